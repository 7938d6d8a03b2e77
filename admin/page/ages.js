// How long ago each owner's last renewal was read. Between two answers an age does not grow: a page
// that has not asked does not mean that the owner is silent.
import { Poll } from "./poll.js";

export class Ages {
  // onChange(): owners' heard (ms, or null: not known) may have changed
  constructor(view, stream, onChange) {
    this.view = view;
    this.onChange = onChange;
    this.poll = new Poll("v1/processes", stream, (answer) => this.#take(answer?.processes ?? []));
  }

  // Call it now and then.
  watch(now) {
    this.poll.watch(now);
  }

  #take(processes) {
    for (const owner of this.view.owners) {
      owner.heard = null;
    }
    for (const { id, partitions, oldest_ms: oldest } of processes) {
      const owner = this.view.owners[this.view.byId.get(id)];
      if (owner && partitions > 0) { // a process that leads nothing has no renewal
        owner.heard = oldest;
      }
    }
    this.onChange();
  }
}
