import CRealTime
import RealTime
import Synchronization
import System

/// Memory of a `SlicePlayer`, and the thread that hears of its events.
@safe
final class PlayerMemory: @unchecked Sendable {
  let player: UnsafeMutablePointer<SlicePlayer>
  private let requests: UnsafeMutablePointer<PlayerRequestRing>
  private let requestSlots: UnsafeMutableBufferPointer<PlayerRequest>
  private let events: UnsafeMutablePointer<PlayerEventRing>
  private let eventSlots: UnsafeMutableBufferPointer<PlayerEvent>
  private let signal: UnsafeMutablePointer<cue_signal>
  private let state: UnsafeMutablePointer<PlayerState>
  private let slices: UnsafeMutablePointer<PlayerSlice>
  private let reader = SliceReaderMemory()

  private struct Control {
    var nextID: UInt64 = 1
    /// The functions that hear of the slices that are not over.
    var handlers: [UInt64: @Sendable (PlayerEvent.Kind) -> Void] = [:]
    var hasThread = false
    var isOver = false
  }
  private let control = Mutex(Control())
  init() {
    // A slice has at most two events: its beginning and its end.
    unsafe requestSlots = .allocate(capacity: SlicePlayer.capacity)
    unsafe eventSlots = .allocate(capacity: 4 * SlicePlayer.capacity)
    unsafe requests = .allocate(capacity: 1)
    unsafe requests.initialize(to: PlayerRequestRing(slots: requestSlots))
    unsafe events = .allocate(capacity: 1)
    unsafe events.initialize(to: PlayerEventRing(slots: eventSlots))
    unsafe signal = .allocate(capacity: 1)
    unsafe signal.initialize(to: cue_signal())
    unsafe cue_signal_initialize(signal)
    unsafe state = .allocate(capacity: 1)
    unsafe state.initialize(to: PlayerState())
    unsafe slices = .allocate(capacity: SlicePlayer.capacity)
    unsafe player = .allocate(capacity: 1)
    unsafe player.initialize(
      to: SlicePlayer(
        requests: requests, events: events, signal: signal, state: state, slices: slices,
        reader: reader.reader))
  }

  deinit {
    unsafe player.deinitialize(count: 1)
    unsafe player.deallocate()
    unsafe slices.deallocate()
    unsafe state.deallocate()
    unsafe cue_signal_destroy(signal)
    unsafe signal.deallocate()
    unsafe events.deinitialize(count: 1)
    unsafe events.deallocate()
    unsafe requests.deinitialize(count: 1)
    unsafe requests.deallocate()
    unsafe eventSlots.deallocate()
    unsafe requestSlots.deallocate()
  }

  /// Gives the player a slice.
  ///
  /// - Parameters:
  ///   - start: The first frame, counted from the start of the player; nil for the end of the slice
  ///     before.
  ///   - handler: Hears of the slice, on the thread of this player.
  /// - Returns: False if too many slices wait.
  func play(
    _ samples: UnsafeMutablePointer<cue_buffer_list>, _ format: BusFormat, frames: Int,
    start: Int64?, resets: UInt64, _ handler: @escaping @Sendable (PlayerEvent.Kind) -> Void
  ) -> Bool {
    control.withLock { control in
      if control.isOver || control.handlers.count >= SlicePlayer.capacity { return false }
      let slice = unsafe PlayerSlice(
        id: control.nextID, samples, format, frames: frames, start: start, resets: resets)
      guard unsafe requests.pointee.push(.play(slice)) else { return false }
      control.handlers[control.nextID] = handler
      control.nextID += 1
      if !control.hasThread {
        control.hasThread = true
        startThread(named: "unit player") { self.listen() }
      }
      return true
    }
  }

  /// Starts the player.
  func start(_ start: PlayerStart, resets: UInt64) -> Bool {
    control.withLock { _ in unsafe requests.pointee.push(.start(start, resets: resets)) }
  }

  /// Ends the thread. No handler is called afterwards, except that of the caller or one that runs.
  func end() {
    control.withLock { control in
      control.isOver = true
      control.handlers = [:]
    }
    unsafe cue_rt_signal_post(signal)
  }

  private func listen() {
    while true {
      unsafe cue_signal_wait(signal)
      while let event = unsafe events.pointee.pop() {
        let handler = control.withLock { control in
          event.kind == .ended || event.kind == .cancelled
            ? control.handlers.removeValue(forKey: event.id) : control.handlers[event.id]
        }
        handler?(event.kind)
      }
      if control.withLock({ $0.isOver }) { return }
    }
  }
}

/// Memory of a `SliceReader`.
@safe
final class SliceReaderMemory: @unchecked Sendable {
  let reader: SliceReader
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  /// A plane for channels without one.
  private let nothing: UnsafeMutablePointer<Float>
  private static var mostChannels: Int { 64 }

  init() {
    unsafe list = BufferMemory.allocateList(buffers: Self.mostChannels)
    unsafe planes = .allocate(capacity: Self.mostChannels)
    unsafe nothing = .allocate(capacity: 1)
    unsafe planes.initialize(repeating: nothing, count: Self.mostChannels)
    reader = unsafe SliceReader(list, planes)
  }

  deinit {
    unsafe planes.deallocate()
    unsafe nothing.deallocate()
    unsafe list.deallocate()
  }
}
