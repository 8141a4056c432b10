import AudioToolbox
import AudioUnits
import Dispatch
import Files
public import Foundation
import Logging
import Synchronization
import System

/// A function that hears of the end of an `AVMIDIPlayer`, on a thread of the library.
public typealias AVMIDIPlayerCompletionHandler = () -> Void

/// A player of one MIDI file through a SoundFont or DLS file. Any thread that is not real-time.
///
/// Each player has a JACK client of its own, which is named after the program, from `prepareToPlay` or `play` until some
/// seconds after the end. Releasing the last reference ends it. Creating a player without the library's plugins ends the
/// program.
open class AVMIDIPlayer: NSObject, @unchecked Sendable {
  private let engine: AVAudioEngine
  private let sequencer: AVAudioSequencer
  @safe private struct Handler: @unchecked Sendable {
    let call: AVMIDIPlayerCompletionHandler
  }
  private struct State {
    /// The number of the latest run. The end of an earlier one is ignored.
    var run = 0
    var handler: Handler?
  }
  private let state = Mutex(State())
  /// Held while the player is started or stopped.
  private let control = Mutex<Void>(())
  /// Seconds for which notes ring on after the end.
  private static let tail = 3.0

  /// Opens a MIDI file.
  ///
  /// - Parameters:
  ///   - inURL: The file.
  ///   - bankURL: The SoundFont or DLS file; nil for the default SoundFont.
  /// - Throws: An error that names the file, and the place of the damage if it is a damaged MIDI file.
  public convenience init(contentsOf inURL: URL, soundBankURL bankURL: URL?) throws {
    try self.init(AVAudioEngine(), bankURL) { try $0.load(from: inURL) }
  }

  /// Opens a MIDI file in memory.
  public convenience init(data: Data, soundBankURL bankURL: URL?) throws {
    try self.init(AVAudioEngine(), bankURL) { try $0.load(from: data) }
  }

  /// - Parameter engine: An engine of the player's own.
  package init(
    _ engine: AVAudioEngine, _ bankURL: URL?, _ load: (AVAudioSequencer) throws -> Void
  ) throws {
    self.engine = engine
    sequencer = AVAudioSequencer(audioEngine: engine)
    try load(sequencer)
    let made = MadeUnit(.dlsSynth, for: "AVMIDIPlayer")
    if let bankURL {
      do throws(SoundFontError) {
        guard bankURL.isFileURL else { throw SoundFontError("\(bankURL) is not the URL of a file") }
        guard let synth = made.unit as? LV2Unit else { preconditionFailure("it is a plugin") }
        try synth.load(bank: bankURL.path)
      } catch {
        throw NSError(NSOSStatusErrorDomain, kAudioUnitErr_InvalidFile, error.description)
      }
    }
    let instrument = AVAudioUnitMIDIInstrument(made)
    engine.attach(instrument)
    // At the rate of the sound card, so that nothing is converted.
    let format = engine.mainMixerNode.outputFormat(forBus: 0)
    engine.connect(
      instrument, to: engine.mainMixerNode, format: format.channelCount > 0 ? format : nil)
  }

  deinit {
    sequencer.stop()
    engine.stop()
  }

  // MARK: Playing

  /// Opens the device and loads the SoundFont, so that `play` begins sooner.
  open func prepareToPlay() { _ = startEngine() }

  private func startEngine() -> Bool {
    do {
      try engine.start()
      return true
    } catch {
      log.error("AVMIDIPlayer: \((error as NSError).localizedDescription)")
      return false
    }
  }

  /// Plays from `currentPosition` on. Has no effect while the player plays, or without a server, which the log tells.
  ///
  /// - Parameter completionHandler: Called on a thread of the library at the end of the file, or after `stop`; nil for
  ///   nobody.
  open func play(_ completionHandler: AVMIDIPlayerCompletionHandler? = nil) {
    let handler = completionHandler.map { Handler(call: $0) }
    control.withLock { _ in
      guard !sequencer.isPlaying else { return }
      guard startEngine(), (try? sequencer.start()) != nil else {
        if let handler { DispatchQueue.global().async { handler.call() } }
        return
      }
      let run = state.withLock { state in
        state.run += 1
        state.handler = handler
        return state.run
      }
      lookLater(run)
    }
  }

  /// Plays from `currentPosition` on, and returns at the end of the file, or after `stop`.
  open func play() async {
    await withCheckedContinuation { continuation in
      let isBusy = isPlaying
      if isBusy { return continuation.resume() }
      play { continuation.resume() }
    }
  }

  /// Holds the player where it is, with the notes that sound.
  open func stop() { control.withLock { _ in end(at: nil) } }

  /// Looks whether the end has come, once that may be so.
  private func lookLater(_ run: Int) {
    let left = (duration - currentPosition) / Double(max(rate, 0.001))
    DispatchQueue.global().asyncAfter(deadline: .now() + min(max(left, 0.01), 1)) {
      [weak self] in self?.look(run)
    }
  }

  private func look(_ run: Int) {
    control.withLock { _ in
      guard state.withLock({ $0.run == run }), sequencer.isPlaying else { return }
      if currentPosition < duration { return lookLater(run) }
      end(at: 0)
    }
  }

  /// Call it with `control`.
  private func end(at position: TimeInterval?) {
    guard sequencer.isPlaying else { return }
    sequencer.stop()
    if let position { currentPosition = position }
    let (run, handler) = state.withLock { state in
      state.run += 1
      defer { state.handler = nil }
      return (state.run, state.handler)
    }
    if let handler { DispatchQueue.global().async { handler.call() } }
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.tail) { [weak self] in
      self?.rest(run)
    }
  }

  /// Ends rendering unless the player plays again.
  private func rest(_ run: Int) {
    control.withLock { _ in if state.withLock({ $0.run == run }) { engine.pause() } }
  }

  // MARK: Times

  /// True from `play` until `stop` or the end of the file.
  open var isPlaying: Bool { sequencer.isPlaying }

  /// The length of the file in seconds, at rate 1.
  open var duration: TimeInterval {
    sequencer.tracks.reduce(0) { max($0, $1.lengthInSeconds) }
  }

  /// The place in the file in seconds, which may be set: 0 after the end. A time outside the file is taken for the nearer
  /// end of it.
  open var currentPosition: TimeInterval {
    get { min(sequencer.currentPositionInSeconds, duration) }
    set {
      sequencer.currentPositionInSeconds = newValue.isNaN ? 0 : min(max(newValue, 0), duration)
    }
  }

  /// How much faster than its tempo the file is played: 0.001 to 1000, and 1 at first.
  open var rate: Float {
    get { sequencer.rate }
    set { sequencer.rate = newValue }
  }
}
