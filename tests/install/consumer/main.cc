#include <iostream>
#include <neliroute/slot_space.h>

int main() {
  const neliroute::SlotSpace slots{neliroute::SlotCount{1024}};
  std::cout << "alice " << slots.slot_of("alice").value() << '\n';
}
