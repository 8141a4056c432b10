import AudioQueue
import CFork
import Dispatch
import Files
import Glibc
import Logging
import RealTime
import Server
import Synchronization
import System

/// Short sounds that are kept in memory, and the queues that play them. May be used on any thread.
final class SystemSounds: Sendable {
  /// The format and the samples of a sound.
  struct Sound: Sendable {
    let format: PCMFormat
    let bytes: [UInt8]
  }

  struct Settings: Sendable {
    var isOfInterface = true
    /// True if the program waits for the end of the sound before it exits.
    var isAwaitedAtExit = false
  }

  private struct Entry: Sendable {
    let sound: Sound
    var settings = Settings()
    /// The app's completion callback.
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
    /// The UID of the device of the latest playback. Other sounds share it while it is open.
    var deviceUID: String?
    var waitsAtExit = false
  }

  static let shared = SystemSounds()
  /// The built-in sounds. The last one is a tone; the others are silent.
  static let builtIn: ClosedRange<UInt32> = 0xFFE...0x1000
  static let alert = builtIn.upperBound
  /// The maximum length of a sound in seconds.
  static let maximumSeconds = 30.0

  private let state = Mutex(
    State(
      entries: Dictionary(
        uniqueKeysWithValues: builtIn.map { ($0, Entry(sound: $0 == alert ? .tone : .none)) })))
  /// A queue for opening clients, which would block the app's thread for too long.
  private let work = DispatchQueue(label: "cuejack.sounds")
  private let callbacks = DispatchQueue(label: "cuejack.sounds.callbacks")
  /// The playbacks that must end before the program exits.
  private let awaited = DispatchGroup()

  func add(_ sound: Sound) -> UInt32 {
    state.withLock { state in
      state.lastSound += 1
      state.entries[state.lastSound] = Entry(sound: sound)
      return state.lastSound
    }
  }

  /// Removes a sound and stops it if it is playing. Returns false if it does not exist or is built
  /// in.
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

  /// Changes the settings of a sound. Returns false if it does not exist.
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

  /// Sets the completion callback of a sound; nil removes it. Returns false if the sound does not
  /// exist.
  func setCompletion(_ id: UInt32, _ completion: SoundCompletion?) -> Bool {
    state.withLock { state in
      guard state.entries[id] != nil else { return false }
      state.entries[id]?.completion?.cancel()
      state.entries[id]?.completion = completion
      return true
    }
  }

  /// Plays a sound without waiting for it. Calls `done` when the sound has ended or could not be
  /// played.
  func play(_ id: UInt32, done: (@Sendable () -> Void)?) {
    guard cue_fork_may_call() else { return }
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
        // The device may be closing now, together with the last sound that plays on it.
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
      options: OutputQueue.Options(clientName: "\(clientName)-sounds"),
      server: JackServer(), callingBackOn: .ownThread,
      OutputQueue.Handlers(
        bufferDone: { _, _ in },
        changed: { queue, change in
          guard change == .isRunning, queue.hasEnded else { return }
          SystemSounds.shared.finish(play, completes: true)
        }))
    let isThere = state.withLock { state in
      state.plays[play] = Play(sound: id, queue: queue, done: done)
      return state.entries[id] != nil
    }
    guard isThere else { return finish(play, completes: false) }
    do throws(QueueError) {
      if let deviceUID { try queue.setDeviceUID(deviceUID) }
      let buffer = try queue.allocateBuffer(capacity: sound.bytes.count)
      unsafe buffer.data.copyBytes(from: sound.bytes)
      try queue.enqueue(buffer.id, bytes: sound.bytes.count)
      try queue.start()
      try queue.stopAfterPlaying()
    } catch {
      // Another thread may have ended the playback, and with it the sound, meanwhile.
      guard state.withLock({ $0.plays.removeValue(forKey: play) }) != nil else { return }
      try? queue.dispose(atOnce: true)
      throw error
    }
    let uid = queue.deviceUID
    state.withLock { $0.deviceUID = uid }
  }

  /// Ends a playback. Does nothing if it has already ended.
  private func finish(_ play: Int, completes: Bool) {
    let (ended, completion) = state.withLock { state in
      let ended = state.plays.removeValue(forKey: play)
      return (ended, ended.flatMap { state.entries[$0.sound]?.completion })
    }
    guard let ended else { return }
    if completes { completion?.call() }
    // Disposed of on another thread: the queue's callback thread would wait for itself.
    work.async {
      try? ended.queue.dispose(atOnce: true)
      ended.done()
    }
  }
}

extension SystemSounds.Sound {
  /// A sound without samples.
  static let none = Self(
    format: PCMFormat(sampleRate: 48000, channels: 1, kind: .float, bitsPerSample: 32), bytes: [])

  /// A short decaying tone.
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
