import Glibc
import Logging
import RealTime
import Server
import Synchronization
import System

/// Halting and resuming a graph, and preparing its nodes for a rate and a period. Control threads.
extension Graph {
  /// Switches to crossfaded edits, because cycles run from now on.
  package func begin() {
    state.withLock { state in
      if !state.isHalted { return }
      apply(&state)
      state.isHalted = false
    }
  }

  /// Switches to immediate edits, because no cycle runs until `begin`. A cycle that started and
  /// does not end, in a node that hangs, is abandoned: the memory that it may use is never freed.
  package func halt() {
    let isOver = unsafe cycle.pointee.areOver(cycle.pointee.cyclesBegun)
    unsafe cycle.pointee.rebase()
    state.withLock { state in
      if !isOver { abandon(&state) }
      state.isHalted = true
      state.isFading = false
      apply(&state)
      state.retired = []
    }
  }

  /// Keeps everything that an unfinished cycle may use, and bypasses its nodes, which it may still
  /// run.
  private func abandon(_ state: inout State) {
    let orders = state.retired.map(\.order) + [state.order].compactMap { $0 }
    orders.forEach(keepForGood)
    state.delays = [:]
    state.eventDelays = [:]
    for slot in orders.flatMap(\.slots) {
      slot.abandon()
      if slot.kind == .node, state.abandoned.insert(slot.number).inserted {
        log.error("“\(slot.name)” is led around: a cycle that may run it does not end")
      }
    }
    for (id, item) in state.wiring.items where state.abandoned.contains(item.slot.number) {
      state.wiring.setUnready(id, true)
    }
  }

  /// Prepares all nodes for another sample rate or longer blocks. Cycles are silent until it is
  /// done.
  ///
  /// A node that cannot be prepared is bypassed.
  ///
  /// - Returns: `false` if a running cycle does not end; then nothing has changed.
  @discardableResult
  package func prepare(sampleRate: Double, blockFrames: Int) -> Bool {
    preparing.withLock { _ in prepareAlone(sampleRate, blockFrames) }
  }

  /// Prepares all nodes for longer blocks only, without a gap in the sound. While another thread
  /// adds a node it fails, and cycles keep their block length.
  ///
  /// Blocks do not grow beyond `longestGrownBlock`, since some plugins must be instantiated again
  /// for that and lose their sounding notes. They do grow if some nodes need whole cycles.
  ///
  /// - Returns: `false` if a node is being added, or a running cycle does not end. Nothing has
  ///   changed then; retry later.
  @discardableResult
  package func prepare(blockFrames: Int) -> Bool {
    preparing.withLockIfAvailable { _ in
      let (rate, needsAll) = state.withLock { state in
        (
          state.sampleRate,
          state.wiring.items.values.contains { $0.slot.node?.needsWholeCycles == true }
        )
      }
      return prepareAlone(
        rate, needsAll ? blockFrames : min(blockFrames, Self.longestGrownBlock))
    } ?? false
  }

  /// Maximum length in frames.
  private static let longestGrownBlock = 1024

  /// Prepares all nodes. The caller holds `preparing`.
  private func prepareAlone(_ sampleRate: Double, _ blockFrames: Int) -> Bool {
    guard
      state.withLock({ $0.sampleRate != sampleRate || $0.blockFrames < blockFrames })
    else { return true }
    // Keeps an edit from installing cycles of the new length with planes of the old one.
    unsafe cycle.pointee.hold()
    defer { unsafe cycle.pointee.release() }
    guard awaitCycles() else {
      if !isOverdue.exchange(true, ordering: .relaxed) {
        log.error("a cycle does not end: no node is made ready for longer ones before it does")
      }
      return false
    }
    isOverdue.store(false, ordering: .relaxed)
    let (slots, frames, isOtherRate) = state.withLock { state in
      let isOtherRate = state.sampleRate != sampleRate
      state.sampleRate = sampleRate
      state.blockFrames = max(state.blockFrames, blockFrames)
      // Include nodes that are fading out: they still run.
      let leaving = (state.order?.slots ?? []).filter { slot in
        !state.wiring.items.values.contains { $0.slot === slot }
      }
      return (
        state.wiring.items.values.map(\.slot) + leaving, state.blockFrames, isOtherRate
      )
    }
    var failed = state.withLock { $0.abandoned }.intersection(slots.map(\.number))
    for slot in slots where !failed.contains(slot.number) {
      do throws(HostError) {
        try slot.node?.prepare(sampleRate: sampleRate, maximumFrames: frames)
      } catch {
        log.error("“\(slot.name)” does not go on: \(error)")
        failed.insert(slot.number)
      }
    }
    return state.withLock { state in
      let known = Set(state.wiring.items.values.map(\.slot.number))
      // A node that is fading out and cannot be prepared is removed at once.
      var isInterrupted = state.isHalted || isOtherRate || !failed.isSubset(of: known)
      for (id, item) in state.wiring.items where item.isUnready != failed.contains(item.slot.number)
      {
        state.wiring.setUnready(id, !item.isUnready)
        isInterrupted = true
      }
      // Slots that are fading out have planes of the old length, too.
      for slot in state.order?.slots ?? [] { slot.resize(state.blockFrames) }
      for item in state.wiring.items.values { item.slot.resize(state.blockFrames) }
      state.latency = [:]
      if !isInterrupted, let order = state.order {
        // The sound continues: delay lines keep their content, and the crossfade its position.
        run(OrderMemory(order, number: state.nextOrder, blockFrames: state.blockFrames), &state)
        return true
      }
      let wasHalted = state.isHalted
      state.isHalted = true
      state.isFading = false
      apply(&state)
      state.isHalted = wasHalted
      return true
    }
  }

  /// Waits until all started cycles have finished.
  ///
  /// - Returns: `false` if one has not finished after five seconds: a plugin may hang.
  private func awaitCycles() -> Bool {
    let count = unsafe cycle.pointee.cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while unsafe !cycle.pointee.areOver(count) {
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }
}
