import AudioToolbox
import Codecs
public import Foundation
import Logging
import Synchronization
import System
import Timeline

/// What an `AVAudioPlayer` tells, on the main queue. A program whose main thread runs neither a run loop nor
/// `dispatchMain()` is told nothing.
public protocol AVAudioPlayerDelegate: AnyObject {
  /// Called when the sound was heard to its end, but not after `stop`.
  ///
  /// `flag` is false if the rest of the file could not be decoded.
  func audioPlayerDidFinishPlaying(_ player: AVAudioPlayer, successfully flag: Bool)
  /// Called if the rest of the file cannot be decoded.
  func audioPlayerDecodeErrorDidOccur(_ player: AVAudioPlayer, error: (any Error)?)
}

extension AVAudioPlayerDelegate {
  /// Does nothing.
  public func audioPlayerDidFinishPlaying(_ player: AVAudioPlayer, successfully flag: Bool) {}
  /// Does nothing.
  public func audioPlayerDecodeErrorDidOccur(_ player: AVAudioPlayer, error: (any Error)?) {}
}

/// A player of one sound file. Any thread that is not real-time.
///
/// The players of a program share a JACK client on each server, which is named after the program. A player has ports
/// from `prepareToPlay` or `play` on until `stop`. While the server is away it waits, and goes on when the server is back.
/// Releasing the last reference ends it.
open class AVAudioPlayer: NSObject, @unchecked Sendable {
  /// The file; nil for data.
  public let url: URL?
  /// The data; nil for a file.
  public let data: Data?
  /// Gets told what happens.
  public weak var delegate: (any AVAudioPlayerDelegate)?

  private enum Phase { case idle, prepared, playing, paused }
  private struct State {
    var queue: PlaybackQueue?
    var phase = Phase.idle
    /// The number of the latest run. The end of an earlier one is ignored.
    var run = 0
    /// A frame of the run, and the frames that the sound had come by then.
    var anchor = (run: 0.0, passed: 0.0)
    /// Frames of the sound for each frame of the run.
    var speed = 1.0
    /// True if the speed of the present run can be changed.
    var hasRate = false

    var volume: Float = 1
    var pan: Float = 0
    var rate: Float = 1
    var enablesRate = false
    var loops = 0
    var isMetering = false
    var levels: [PlaybackQueue.Level] = []
    var device: String?
  }
  /// Held while the queue is controlled.
  private let state = Mutex(State())
  private let sound: PlayerSound
  /// The clients that players have opened, by the device that was asked for.
  private static let clients = Mutex<[String: String]>([:])

  private init(_ url: URL?, _ data: Data?, _ sound: PlayerSound) {
    self.sound = sound
    self.url = url
    self.data = data
  }

  deinit {
    state.withLock { state in
      state.run += 1
      try? state.queue?.stop()
    }
  }

  // MARK: Opening

  /// Creates a player of no sound, which cannot play, for programs that replace it later.
  public override convenience init() { self.init(nil, nil, PlayerSound()) }

  /// Opens a file of any format that `AVAudioFile` reads.
  public convenience init(contentsOf url: URL) throws {
    self.init(url, nil, try PlayerSound(url, nil))
  }

  /// Opens a file. Its content tells the type, whatever the hint.
  public convenience init(contentsOf url: URL, fileTypeHint utiString: String?) throws {
    try self.init(contentsOf: url)
  }

  /// Opens a sound file in memory.
  public convenience init(data: Data) throws { self.init(nil, data, try PlayerSound(nil, data)) }

  /// Opens a sound file in memory. Its content tells the type, whatever the hint.
  public convenience init(data: Data, fileTypeHint utiString: String?) throws {
    try self.init(data: data)
  }

  /// The format of the sound in the file.
  public var format: AVAudioFormat { sound.format }
  /// The format of the sound in the file, as settings keys.
  public var settings: [String: Any] { sound.format.settings }
  /// Number of channels.
  public var numberOfChannels: Int { sound.channels }
  /// Length of the sound in seconds.
  public var duration: TimeInterval { Double(sound.frames) / sound.sampleRate }

  // MARK: Playing

  /// Reads the beginning of the sound, and opens the device, so that `play` begins sooner.
  ///
  /// - Returns: False if there is no server; the log has the reason.
  @discardableResult
  open func prepareToPlay() -> Bool {
    state.withLock { state in told("prepareToPlay") { try prepare(&state) } }
  }

  /// Plays from `currentTime` on, as soon as possible. Does nothing while the player plays.
  ///
  /// - Returns: False if there is no server, or the audio session's category does not allow it; the log has the reason.
  @discardableResult
  open func play() -> Bool {
    state.withLock { state in told("play") { try start(&state, at: .now) } }
  }

  /// Plays from `currentTime` on, at a moment of `deviceCurrentTime`. Players that are given the same one begin
  /// on the same frame, also in several processes. A moment that has passed means the present one.
  ///
  /// - Returns: False for a moment that is not finite, and as `play()`.
  @discardableResult
  open func play(atTime time: TimeInterval) -> Bool {
    guard time.isFinite else {
      log.error("AVAudioPlayer.play: \(sound.name): \(time) is no time")
      return false
    }
    let hostTime = AVAudioTime.hostTime(forSeconds: min(time, Self.latestTime))
    return state.withLock { state in
      told("play") { try start(&state, at: .hostTime(hostTime)) }
    }
  }

  /// A moment that no player reaches, in seconds.
  private static let latestTime = 1e9

  /// Holds the player where it is.
  open func pause() {
    state.withLock { state in
      guard state.phase == .playing else { return }
      _ = told("pause") { try state.queue?.pause() }
      state.phase = .paused
    }
  }

  /// Ends the player and gives its ports back. `currentTime` stays.
  open func stop() {
    state.withLock { state in
      halt(&state, at: position(state))
      state.queue = nil
    }
  }

  /// True from `play` until `pause`, `stop` or the end, also before the moment of `play(atTime:)`.
  public var isPlaying: Bool { state.withLock { $0.phase == .playing } }

  /// Runs a part of a method.
  ///
  /// - Returns: False if it fails; the log has the reason.
  private func told(_ method: String, _ body: () throws -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      log.error("AVAudioPlayer.\(method): \(sound.name): \(error)")
      return false
    }
  }

  private func open(_ state: inout State) throws -> PlaybackQueue {
    if let queue = state.queue { return queue }
    let queue = try PlaybackQueue(
      Float.self, sampleRate: sound.sampleRate, channels: sound.channels, buffers: 8
    ) { [sound] frame, output in sound.read(frame, &output) }
    let client = Self.clients.withLock { $0[state.device ?? ""] }
    // The client may be gone.
    if client.map({ (try? queue.setValue($0, of: .device)) == nil }) ?? true,
      let device = state.device
    {
      try queue.setValue(device, of: .device)
    }
    queue.volume = state.volume
    queue.pan = state.pan
    try queue.setValue(state.isMetering, of: .levelMetering)
    state.queue = queue
    return queue
  }

  private func prepare(_ state: inout State) throws {
    guard state.phase == .idle else { return }
    guard sound.isThere else { throw AudioQueueError(kAudio_ParamError) }
    let queue = try open(&state)
    try queue.setValue(state.enablesRate, of: .timePitch)
    state.hasRate = state.enablesRate
    if state.hasRate { queue.rate = state.rate }
    state.speed = state.hasRate ? Double(state.rate) : 1
    let first = Int64(held: state.anchor.passed)
    state.anchor = (0, Double(first))
    sound.begin(at: first, loops: state.loops)
    try queue.prime()
    state.phase = .prepared
    let client = try queue.value(of: .device)
    let device = state.device ?? ""
    Self.clients.withLock { $0[device] = client }
  }

  private func start(_ state: inout State, at time: PlaybackQueue.StartTime)
    throws
  {
    if state.phase == .playing { return }
    try prepare(&state)
    let queue = try open(&state)
    // The first frame is heard only if the ports are connected by then.
    if time != .now { _ = try queue.nearestStartTime() }
    try queue.start(at: time)
    if state.phase == .prepared {
      state.run += 1
      let run = state.run
      Task { [weak self] in
        try? await queue.waitForEnd()
        self?.ended(run)
      }
    }
    state.phase = .playing
  }

  /// Ends a run, or what is prepared for one.
  private func halt(_ state: inout State, at position: Double) {
    state.anchor = (0, position)
    if state.phase == .idle { return }
    state.phase = .idle
    state.run += 1
    _ = told("stop") { try state.queue?.stop() }
  }

  /// Begins a new run at a position if there is one now.
  private func moveRun(_ state: inout State, to position: Double) {
    let isPlaying = state.phase == .playing
    halt(&state, at: position)
    if isPlaying { _ = told("play") { try start(&state, at: .now) } }
  }

  private func ended(_ run: Int) {
    let isPresent = state.withLock { state in
      guard state.run == run, state.phase != .idle else { return false }
      state.phase = .idle
      state.anchor = (0, 0)
      return true
    }
    guard isPresent else { return }
    let failure = sound.failure
    DispatchQueue.main.async { [self] in
      if let failure { delegate?.audioPlayerDecodeErrorDidOccur(self, error: failure) }
      delegate?.audioPlayerDidFinishPlaying(self, successfully: failure == nil)
    }
  }

  // MARK: Times

  /// Returns how many frames the sound has come since the first frame of the run's first pass.
  private func passed(_ state: State) -> Double {
    guard state.phase == .playing || state.phase == .paused, let frame = state.queue?.currentFrame
    else { return state.anchor.passed }
    return state.anchor.passed + max(0, frame - state.anchor.run) * state.speed
  }

  /// Returns the present frame of the file.
  private func position(_ state: State) -> Double {
    state.phase == .idle ? state.anchor.passed : sound.position(after: passed(state))
  }

  /// The place in the sound in seconds, which may be set: while the player plays, it goes on from there. A
  /// time outside the sound is taken for the nearer end of it, and one that is no number for 0.
  public var currentTime: TimeInterval {
    get { state.withLock { position($0) } / sound.sampleRate }
    set {
      let frame = (newValue * sound.sampleRate).rounded()
      let position = frame.isNaN ? 0 : min(max(0, frame), Double(sound.frames))
      state.withLock { moveRun(&$0, to: position) }
    }
  }

  /// The present moment in seconds, for `play(atTime:)`. It is that of `CLOCK_MONOTONIC`, for all players of all processes.
  public var deviceCurrentTime: TimeInterval { AVAudioTime.seconds(forHostTime: HostTime.now) }

  /// How often the sound is repeated after its end, without a gap; below 0 until `stop`. 0 at first. A
  /// change while the player plays counts from the pass on that is being read, up to 0.8 seconds ahead.
  public var numberOfLoops: Int {
    get { state.withLock { $0.loops } }
    set {
      state.withLock { state in
        if newValue == state.loops { return }
        state.loops = newValue
        let isReading = state.phase != .prepared && sound.setLoops(newValue)
        if state.phase != .idle, !isReading { moveRun(&state, to: position(state)) }
      }
    }
  }

  // MARK: Settings

  /// True if `rate` counts, from the next run on: set it before `play`. It stays false in a build without Rubber
  /// Band.
  public var enableRate: Bool {
    get { state.withLock { $0.enablesRate } }
    set {
      if newValue, !TimePitch.isAvailable {
        log.error("AVAudioPlayer.enableRate: this build is without Rubber Band")
        return
      }
      state.withLock { state in
        state.enablesRate = newValue
        if state.phase == .prepared { halt(&state, at: state.anchor.passed) }
      }
    }
  }

  /// The speed, 0.5 to 2, with the pitch of the sound. 1 at first. Other values are taken for the nearest one.
  public var rate: Float {
    get { state.withLock { $0.rate } }
    set {
      let rate = newValue.isNaN ? 1 : min(max(newValue, 0.5), 2)
      state.withLock { state in
        state.rate = rate
        guard state.phase != .idle, state.hasRate else { return }
        state.anchor = (max(0, state.queue?.currentFrame ?? 0), passed(state))
        state.speed = Double(rate)
        state.queue?.rate = rate
      }
    }
  }

  /// The volume, 0 to 1, during a fade the present one.
  public var volume: Float {
    get { state.withLock { $0.queue?.volume ?? $0.volume } }
    set { setVolume(newValue, fadeDuration: 0) }
  }

  /// Changes the volume in a straight line within a number of seconds of sound.
  public func setVolume(_ volume: Float, fadeDuration duration: TimeInterval) {
    let volume = volume.isNaN ? 0 : min(max(volume, 0), 1)
    let seconds = duration.isNaN ? 0 : min(max(duration, 0), Self.latestTime)
    state.withLock { state in
      state.volume = volume
      state.queue?.ramp(to: volume, over: seconds)
    }
  }

  /// The balance of mono and stereo, -1 (left) to 1 (right).
  public var pan: Float {
    get { state.withLock { $0.pan } }
    set {
      state.withLock { state in
        state.pan = newValue.isNaN ? 0 : min(max(newValue, -1), 1)
        state.queue?.pan = state.pan
      }
    }
  }

  /// The server on which the sound is heard, as `jack:SERVER`; nil for the default one. A player that plays goes on
  /// there.
  public var currentDevice: String? {
    get { state.withLock { $0.device } }
    set {
      state.withLock { state in
        let (isPlaying, position) = (state.phase == .playing, position(state))
        halt(&state, at: position)
        state.queue = nil
        state.device = newValue
        if isPlaying { _ = told("currentDevice") { try start(&state, at: .now) } }
      }
    }
  }

  // MARK: Levels

  /// True if levels are measured.
  public var isMeteringEnabled: Bool {
    get { state.withLock { $0.isMetering } }
    set {
      state.withLock { state in
        state.isMetering = newValue
        _ = told("isMeteringEnabled") { try state.queue?.setValue(newValue, of: .levelMetering) }
      }
    }
  }

  /// Takes the levels of the latest cycle, volume and pan included, for `averagePower` and `peakPower`.
  public func updateMeters() { state.withLock { $0.levels = $0.queue?.levels ?? [] } }

  /// Returns the root mean square of a channel in decibels, at most 0; -160 for silence, and for a channel that is
  /// not there.
  @discardableResult
  public func averagePower(forChannel channelNumber: Int) -> Float {
    state.withLock { $0.levels.power(of: channelNumber, \.average) }
  }

  /// Returns the largest sample of a channel in decibels, at most 0; -160 for silence, and for a channel that is not
  /// there.
  @discardableResult
  public func peakPower(forChannel channelNumber: Int) -> Float {
    state.withLock { $0.levels.power(of: channelNumber, \.peak) }
  }
}

extension [PlaybackQueue.Level] {
  /// Returns a value of a channel in decibels, with the least one of Apple's classes.
  func power(of channel: Int, _ value: KeyPath<PlaybackQueue.Level, Float>) -> Float {
    guard indices.contains(channel), case let power = self[channel][keyPath: value], power > -120
    else { return -160 }
    return Swift.min(power, 0)
  }
}
