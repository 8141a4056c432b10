import AudioToolbox
import Files
public import Foundation
import Music
import Synchronization

/// A sequence of events that the instruments of an engine play, each event on its frame. Any thread that is not
/// real-time.
///
/// The renders of the engine's output are its time: it waits while the engine is paused, and in manual rendering.
open class AVAudioSequencer: NSObject, @unchecked Sendable {
  private let sequence = EventSequence()
  private let player = SequencePlayer()
  private let known = Mutex<[Int: AVMusicTrack]>([:])
  /// The engine; nil for a sequencer without one, which cannot be started.
  private let target: EngineTarget?

  /// Creates a sequencer without an engine: for files.
  public override convenience init() { self.init(nil) }

  /// Creates a sequencer whose tracks the instruments of an engine play.
  public convenience init(audioEngine engine: AVAudioEngine) { self.init(EngineTarget(engine)) }

  private init(_ target: EngineTarget?) {
    self.target = target
    super.init()
    try? sequence.setTarget(target)
    try? player.setSequence(sequence)
  }

  deinit { player.end() }

  private func onMusic<Result>(_ call: String, _ body: () throws(MusicError) -> Result) throws
    -> Result
  {
    do throws(MusicError) { return try body() } catch {
      throw Self.failure(call, status(of: error), error.reason)
    }
  }

  private static func failure(_ call: String, _ code: OSStatus, _ reason: String) -> NSError {
    NSError(NSError.avfaudio, code, "AVAudioSequencer.\(call): \(reason)")
  }

  // MARK: Files

  /// Adds the tracks of a MIDI file. The tempo track becomes that of the file.
  ///
  /// - Throws: An error with the place of the damage if the file is no MIDI file, or damaged.
  open func load(from fileURL: URL, options: AVMusicSequenceLoadOptions = []) throws {
    let data: Data
    do { data = try Data(contentsOf: fileURL) } catch {
      throw Self.failure(
        "load", kAudioFileFileNotFoundError, "\(fileURL.path): \(error.localizedDescription)")
    }
    try load(data, fileURL.path, options)
  }

  /// Adds the tracks of a MIDI file in memory.
  open func load(from data: Data, options: AVMusicSequenceLoadOptions = []) throws {
    try load(data, "the MIDI file in memory", options)
  }

  private func load(_ data: Data, _ path: String, _ options: AVMusicSequenceLoadOptions) throws {
    let file: StandardMIDIFile
    do throws(MIDIFileError) { file = try StandardMIDIFile(Array(data), path: path) } catch {
      throw Self.failure("load", kAudioFileInvalidFileError, "\(error)")
    }
    try onMusic("load") { () throws(MusicError) in
      try sequence.load(file, isByChannel: options.contains(.smf_ChannelsToTracks))
    }
  }

  /// Writes a MIDI file of format 1.
  ///
  /// - Parameters:
  ///   - fileURL: The file.
  ///   - resolution: Ticks of a quarter note; 0 for those of the loaded file, or 480.
  ///   - replace: Whether a file that exists is replaced.
  open func write(to fileURL: URL, smpteResolution resolution: Int, replaceExisting replace: Bool)
    throws
  {
    do {
      try Data(sequence.file(resolution: resolution).bytes)
        .write(to: fileURL, options: replace ? .atomic : .withoutOverwriting)
    } catch {
      throw Self.failure(
        "write", kAudioFilePermissionsError, "\(fileURL.path): \(error.localizedDescription)")
    }
  }

  /// Returns the bytes of such a file.
  open func data(withSMPTEResolution SMPTEResolution: Int, error outError: NSErrorPointer) -> Data {
    Data(sequence.file(resolution: SMPTEResolution).bytes)
  }

  /// The title, the copyright and other texts of the loaded file, by the keys of Core Audio's info dictionaries.
  open var userInfo: [String: Any] { sequence.info }

  // MARK: Tracks

  /// The tracks without that of tempos.
  open var tracks: [AVMusicTrack] { sequence.tracks.map(object) }

  /// The track of tempos.
  open var tempoTrack: AVMusicTrack { object(sequence.tempoTrack) }

  private func object(_ track: EventTrack) -> AVMusicTrack {
    known.withLock { known in
      if let object = known[track.id] { return object }
      let object = AVMusicTrack(track)
      known[track.id] = object
      return object
    }
  }

  /// Adds a track.
  open func createAndAppendTrack() -> AVMusicTrack { object(sequence.addTrack()) }

  /// Removes a track.
  ///
  /// - Returns: False if the sequencer has no such track.
  @discardableResult
  open func removeTrack(_ track: AVMusicTrack) -> Bool {
    guard track.track.sequence === sequence, (try? sequence.remove(track.track)) != nil else {
      return false
    }
    known.withLock { $0[track.track.id] = nil }
    return true
  }

  /// Lets all events come in the opposite order.
  open func reverseEvents() { sequence.reverse() }

  // MARK: Time

  /// The beat up to which the sequence was rendered, or at which it will begin.
  open var currentPositionInBeats: TimeInterval {
    get { player.beat }
    set { try? player.setBeat(newValue) }
  }

  /// The same in seconds.
  open var currentPositionInSeconds: TimeInterval {
    get { seconds(forBeats: player.beat) }
    set { try? player.setBeat(beats(forSeconds: newValue)) }
  }

  /// Returns the time of a beat.
  open func seconds(forBeats beats: AVMusicTimeStamp) -> TimeInterval {
    sequence.tempoMap.seconds(at: beats)
  }

  /// Returns the beat at a time.
  open func beats(forSeconds seconds: TimeInterval) -> AVMusicTimeStamp {
    sequence.tempoMap.beat(at: seconds)
  }

  /// Returns the host time of a beat, while a device plays; 0 and an error otherwise.
  open func hostTime(forBeats inBeats: AVMusicTimeStamp, error outError: NSErrorPointer) -> UInt64 {
    do {
      return try onMusic("hostTime") { () throws(MusicError) in try player.hostTime(ofBeat: inBeats)
      }
    } catch {
      unsafe outError?.pointee = error as NSError
      return 0
    }
  }

  /// Returns the beat of a host time, while a device plays; 0 and an error otherwise.
  open func beats(forHostTime inHostTime: UInt64, error outError: NSErrorPointer)
    -> AVMusicTimeStamp
  {
    do {
      return try onMusic("beats") { () throws(MusicError) in
        try player.beat(atHostTime: inHostTime)
      }
    } catch {
      unsafe outError?.pointee = error as NSError
      return 0
    }
  }

  // MARK: Playing

  /// True from `start` until `stop`, also behind the last event.
  open var isPlaying: Bool { player.isPlaying }

  /// How much faster than its tempo the sequence is played: 0.001 to 1000.
  open var rate: Float {
    get { Float(player.rate) }
    set { try? player.setRate(Double(newValue)) }
  }

  /// Prepares the engine. `start` does that, too.
  open func prepareToPlay() { try? player.prepare() }

  /// Plays the sequence from the engine's next render on.
  ///
  /// - Throws: -10852 if the sequence is played; -66720 without an engine.
  open func start() throws {
    try onMusic("start") { () throws(MusicError) in try player.start() }
  }

  /// Ends playing, with the notes that sound.
  open func stop() { player.stop() }

  /// Sets the function that hears of user events; nil for none.
  open func setUserCallback(_ userCallback: AVAudioSequencerUserCallback?) {
    guard let userCallback else { return sequence.setUserCallback(nil) }
    let box = CallbackBox(userCallback)
    sequence.setUserCallback { [weak self] track, beat, data, _ in
      guard let self else { return }
      box.call(object(EventTrack(sequence, id: track)), Data(data), beat)
    }
  }
}

/// A function of the program that a thread of the library calls.
private struct CallbackBox: @unchecked Sendable {
  let call: AVAudioSequencerUserCallback
  init(_ call: @escaping AVAudioSequencerUserCallback) { self.call = call }
}
