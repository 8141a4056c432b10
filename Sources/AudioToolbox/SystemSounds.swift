import AudioQueue
import Codecs
import CoreFoundation
import Dispatch
import Files
import Glibc
import Logging
import RealTime
import Server
import Synchronization

/// Short sounds that are kept in memory, and the queues that play them. Any thread.
final class SystemSounds: Sendable {
  /// A sound's samples.
  struct Sound: Sendable {
    let format: PCMFormat
    let bytes: [UInt8]
  }

  struct Settings: Sendable {
    var isOfInterface = true
    /// The program's end waits for the sound's.
    var isAwaitedAtExit = false
  }

  private struct Entry: Sendable {
    let sound: Sound
    var settings = Settings()
    /// Calls the app when the sound has been played.
    var completion: SoundCompletion?
  }

  private struct Play: Sendable {
    let sound: UInt32
    let queue: OutputQueue
    let done: @Sendable () -> Void
  }

  private struct State {
    var entries: [UInt32: Entry]
    var lastSound = alert
    var plays: [Int: Play] = [:]
    var lastPlay = 0
    /// The device of the latest play, which others share while it is open.
    var deviceUID: String?
    var waitsAtExit = false
  }

  static let shared = SystemSounds()
  /// The sounds that are always there, the last of which makes a tone.
  static let builtIn: ClosedRange<UInt32> = 0xFFE...0x1000
  static let alert = builtIn.upperBound
  /// Seconds that a sound may last.
  static let maximumSeconds = 30.0

  private let state = Mutex(
    State(
      entries: Dictionary(
        uniqueKeysWithValues: builtIn.map { ($0, Entry(sound: $0 == alert ? .tone : .none)) })))
  /// Opening a client takes long, so it is not done on the app's thread.
  private let work = DispatchQueue(label: "cuejack.sounds")
  private let callbacks = DispatchQueue(label: "cuejack.sounds.callbacks")
  /// The plays that the program's end waits for.
  private let awaited = DispatchGroup()

  func add(_ sound: Sound) -> UInt32 {
    state.withLock { state in
      state.lastSound += 1
      state.entries[state.lastSound] = Entry(sound: sound)
      return state.lastSound
    }
  }

  /// Ends a sound, even while it plays. False if there is none.
  func remove(_ id: UInt32) -> Bool {
    let (isThere, plays) = state.withLock { state in
      let entry = Self.builtIn.contains(id) ? nil : state.entries.removeValue(forKey: id)
      entry?.completion?.cancel()
      return (entry != nil, state.plays.filter { $0.value.sound == id }.map(\.key))
    }
    for play in plays { finish(play, completes: false) }
    return isThere
  }

  func settings(_ id: UInt32) -> Settings? { state.withLock { $0.entries[id]?.settings } }

  /// False if there is no such sound.
  func change(_ id: UInt32, _ body: (inout Settings) -> Void) -> Bool {
    let (isThere, isFirst) = state.withLock { state -> (Bool, Bool) in
      guard var entry = state.entries[id] else { return (false, false) }
      body(&entry.settings)
      state.entries[id] = entry
      let isFirst = entry.settings.isAwaitedAtExit && !state.waitsAtExit
      if isFirst { state.waitsAtExit = true }
      return (true, isFirst)
    }
    if isFirst {
      atexit {
        _ = SystemSounds.shared.awaited.wait(timeout: .now() + 2 * SystemSounds.maximumSeconds)
      }
    }
    return isThere
  }

  /// Has the app called when the sound has been played; nil for no more. False if there is none.
  func setCompletion(_ id: UInt32, _ completion: SoundCompletion?) -> Bool {
    state.withLock { state in
      guard state.entries[id] != nil else { return false }
      state.entries[id]?.completion?.cancel()
      state.entries[id]?.completion = completion
      return true
    }
  }

  /// Plays a sound. Returns at once; `done` is called when it is over, or cannot be played.
  func play(_ id: UInt32, done: (@Sendable () -> Void)?) {
    let isAwaited = settings(id)?.isAwaitedAtExit ?? false
    if isAwaited { awaited.enter() }
    let over: @Sendable () -> Void = { [callbacks, awaited] in
      if let done { callbacks.async(execute: done) }
      if isAwaited { awaited.leave() }
    }
    work.async { [self] in
      guard let entry = state.withLock({ $0.entries[id] }) else {
        log.warning("there is no system sound \(id)")
        return over()
      }
      if entry.sound.bytes.isEmpty {
        entry.completion?.call()
        return over()
      }
      let play = state.withLock { state in
        state.lastPlay += 1
        return state.lastPlay
      }
      do throws(QueueError) {
        let shared = state.withLock { $0.deviceUID }
        // The device may close just now, with the last sound that plays on it.
        if let shared, Device.named(shared) != nil,
          (try? start(entry.sound, play, id, deviceUID: shared, over)) != nil
        {
          return
        }
        try start(entry.sound, play, id, deviceUID: nil, over)
      } catch {
        log.warning("system sound \(id) cannot be played: \(error)")
        over()
      }
    }
  }

  private func start(
    _ sound: Sound, _ play: Int, _ id: UInt32, deviceUID: String?,
    _ done: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let queue = try OutputQueue(
      sound.format,
      options: OutputQueue.Options(clientName: "\(QueueHandle.programName)-sounds"),
      server: JackServer(), callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { _, _ in },
        changed: { queue, change in
          guard change == .isRunning, queue.hasEnded else { return }
          SystemSounds.shared.finish(play, completes: true)
        }))
    do throws(QueueError) {
      if let deviceUID { try queue.setDeviceUID(deviceUID) }
      let buffer = try queue.allocateBuffer(capacity: sound.bytes.count)
      unsafe buffer.data.copyBytes(from: sound.bytes)
      try queue.enqueue(buffer.id, bytes: sound.bytes.count)
      let isThere = state.withLock { state in
        state.plays[play] = Play(sound: id, queue: queue, done: done)
        return state.entries[id] != nil
      }
      guard isThere else { return finish(play, completes: false) }
      try queue.start()
      try queue.stopAfterPlaying()
    } catch {
      state.withLock { $0.plays[play] = nil }
      try? queue.dispose(atOnce: true)
      throw error
    }
    let uid = queue.deviceUID
    state.withLock { $0.deviceUID = uid }
  }

  /// Ends a play, once.
  private func finish(_ play: Int, completes: Bool) {
    let (ended, completion) = state.withLock { state in
      let ended = state.plays.removeValue(forKey: play)
      return (ended, ended.flatMap { state.entries[$0.sound]?.completion })
    }
    guard let ended else { return }
    if completes { completion?.call() }
    // Not on the queue's own thread, which would wait for itself.
    work.async {
      try? ended.queue.dispose(atOnce: true)
      ended.done()
    }
  }
}

extension SystemSounds.Sound {
  /// Nothing that is heard.
  static let none = Self(
    format: PCMFormat(sampleRate: 48000, channels: 1, kind: .float, bitsPerSample: 32), bytes: [])

  /// A short tone that dies away.
  static let tone: Self = {
    let rate = 48000.0
    let samples = (0..<Int(0.4 * rate)).map { frame -> Float in
      let seconds = Double(frame) / rate
      let swell = min(1, seconds / 0.002) * exp(-8 * seconds)
      return Float(0.4 * swell * (sin(1760 * .pi * seconds) + 0.3 * sin(5280 * .pi * seconds)))
    }
    let format = PCMFormat(sampleRate: rate, channels: 1, kind: .float, bitsPerSample: 32)
    return Self(format: format, bytes: unsafe samples.withUnsafeBytes { unsafe Array($0) })
  }()
}

/// Calls a function of the app on a run loop, as often as it is told to.
final class SoundCompletion: Sendable {
  private final class Calls: Sendable {
    let pending = Mutex(0)

    /// True if a call is due; it is not any more.
    func take() -> Bool {
      pending.withLock { pending in
        defer { pending = max(0, pending - 1) }
        return pending > 0
      }
    }
  }
  private let calls = Calls()
  private let context: any CallbackContext

  init(_ loop: CFRunLoop, mode: CFString, _ function: @escaping @Sendable () -> Void) {
    context = makeCallbackContext(.runLoop(loop, mode: mode)) { [calls] in
      while calls.take() { function() }
    }
  }

  func call() {
    calls.pending.withLock { $0 += 1 }
    context.wake()
  }

  /// No calls begin any more.
  func cancel() {
    calls.pending.withLock { $0 = 0 }
    context.invalidate()
  }

  deinit { cancel() }
}
