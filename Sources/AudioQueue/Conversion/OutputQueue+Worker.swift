import RealTime
import Server
import System

extension OutputQueue {
  private enum Step {
    case convert(Converter.Work)
    /// Buffers were returned early.
    case tell
    /// Wait for input, for this many seconds.
    case awaitInput(Double)
    case end
  }

  /// Runs the converter's worker thread until the queue has another converter or none.
  func startConverting(with converter: Converter) {
    startThread(named: "cuejack-convert") { [weak self, state] in
      func next(_ state: inout PlaybackState) -> Step? {
        if state.converter !== converter || state.disposal == .disposed { return .end }
        if let work = converter.takeWork(&state) { return .convert(work) }
        if converter.returnEarly(&state) { return .tell }
        return converter.patience(state).map { .awaitInput($0) }
      }
      while true {
        switch state.wait(for: next) {
        case .end: return
        case .convert(let work):
          guard let self else { return }
          if convert(work, with: converter) { context.wake() }
        case .tell: self?.context.wake()
        case .awaitInput(let seconds):
          let input: Void? = state.wait(seconds: seconds) {
            $0.converter === converter && converter.patience($0) != nil ? nil : ()
          }
          if input != nil { continue }
          guard let self else { return }
          let hasNotices = state.change { state in
            readEvents(&state)
            if !converter.returnEarly(&state) { converter.flushIfNeeded(&state) }
            // Also those of the events: the event thread finds these read.
            return !state.notices.isEmpty
          }
          if hasNotices { context.wake() }
        }
      }
    }
  }

  /// Runs one step of the converter and pushes its frames into the ring.
  ///
  /// - Returns: True if there are notifications to deliver.
  func convert(_ work: Converter.Work, with converter: Converter) -> Bool {
    let isDone = converter.convert(work)
    return state.change { state in
      converter.finish(work, isDone: isDone, &state) { entry, queued in
        memory.push(entry, after: queued)
      }
      return !state.notices.isEmpty
    }
  }
}
