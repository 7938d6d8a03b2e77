#include <iostream>
#include <neliroute/slot_space.h>

#ifdef WITH_ROUTER
bool without_a_broker();
#endif

int main() {
  const neliroute::SlotSpace slots{1024};
  std::cout << "alice " << slots.slot_of("alice").value() << '\n';
#ifdef WITH_ROUTER
  if (!without_a_broker()) return 1;
#endif
}
