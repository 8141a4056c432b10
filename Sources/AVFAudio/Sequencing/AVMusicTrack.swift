public import AudioToolbox
import AudioUnits
import Foundation
import Logging
import MIDI
import Music
import Synchronization
import System

/// A track of an `AVAudioSequencer`. Any thread that is not real-time.
///
/// A value out of range, and an event that the kind of track cannot have, are left out; the log names them.
open class AVMusicTrack: NSObject, @unchecked Sendable {
  let track: EventTrack
  private struct State {
    weak var destination: AVAudioUnit?
    var range = AVBeatRange()
    var isLooping = false
    var loopCount = AVMusicTrackLoopCount.forever.rawValue
  }
  private let state = Mutex(State())

  init(_ track: EventTrack) { self.track = track }

  private func attempt(_ call: String, _ body: () throws(MusicError) -> Void) {
    do throws(MusicError) { try body() } catch {
      log.warning("AVMusicTrack.\(call): \(error.reason)")
    }
  }

  private func change(_ call: String, _ body: (inout EventSequence.Settings) -> Void) {
    attempt(call) { () throws(MusicError) in try track.change(body) }
  }

  private var settings: EventSequence.Settings {
    (try? track.settings) ?? EventSequence.Settings()
  }

  // MARK: Settings

  /// The node that plays the track, of the sequencer's engine; nil for the first instrument of the engine.
  open var destinationAudioUnit: AVAudioUnit? {
    get { state.withLock { $0.destination } }
    set {
      state.withLock { $0.destination = newValue }
      change("destinationAudioUnit") { $0.destination = newValue.map { .unit($0.core) } ?? .none }
    }
  }

  /// The destination of MIDI messages that plays the track, each event on its frame; 0 for `destinationAudioUnit`. In
  /// manual rendering no message is sent. A number that is no endpoint is left out.
  open var destinationMIDIEndpoint: MIDIEndpointRef {
    get {
      if case .endpoint(let endpoint) = settings.destination { endpoint.reference } else { 0 }
    }
    set {
      let endpoint = MIDIObject.find(newValue, as: MIDIEndpoint.self)
      if newValue != 0 && endpoint?.isSource != false {
        log.warning("AVMusicTrack.destinationMIDIEndpoint: \(newValue) is no destination")
        return
      }
      state.withLock { $0.destination = nil }
      change("destinationMIDIEndpoint") {
        $0.destination = endpoint.map { .endpoint($0) } ?? .none
      }
    }
  }

  /// The part that is repeated; all of the track if it has no beats. The track ends with it.
  open var loopRange: AVBeatRange {
    get { state.withLock { $0.range } }
    set { setLoop { $0.range = newValue } }
  }

  /// True if `loopRange` is repeated.
  open var isLoopingEnabled: Bool {
    get { state.withLock { $0.isLooping } }
    set { setLoop { $0.isLooping = newValue } }
  }

  /// How often the loop is played: 1 or more, or `AVMusicTrackLoopCount.forever`.
  open var numberOfLoops: Int {
    get { state.withLock { $0.loopCount } }
    set {
      guard newValue > 0 || newValue == AVMusicTrackLoopCount.forever.rawValue else {
        log.warning("AVMusicTrack.numberOfLoops: \(newValue) is no number of loops")
        return
      }
      setLoop { $0.loopCount = newValue }
    }
  }

  private func setLoop(_ body: (inout State) -> Void) {
    let (range, isLooping, count) = state.withLock { state in
      body(&state)
      return (state.range, state.isLooping, state.loopCount)
    }
    let most = EventTrack.mostBeats
    guard (0...most).contains(range.start), (0...most).contains(range.length) else {
      log.warning("AVMusicTrack.loopRange: \(range) is outside of any track")
      return
    }
    let whole = range.length == 0 ? lengthInBeats : range.length
    change("loopRange") { settings in
      settings.loop = EventSequence.Loop(
        start: isLooping ? range.start : nil, duration: isLooping ? whole : 0, count: max(0, count))
    }
  }

  /// Beats by which all events are later.
  open var offsetTime: AVMusicTimeStamp {
    get { settings.offset }
    set {
      guard abs(newValue) <= EventTrack.mostBeats else { return }
      change("offsetTime") { $0.offset = newValue }
    }
  }

  /// True for a track that is not heard.
  open var isMuted: Bool {
    get { settings.isMuted }
    set { change("isMuted") { $0.isMuted = newValue } }
  }

  /// If a track has it, only tracks that have it are heard.
  open var isSoloed: Bool {
    get { settings.isSoloed }
    set { change("isSoloed") { $0.isSoloed = newValue } }
  }

  /// The length in beats, behind which events are not played: that of the events, unless it was set. 0 is that of the events again.
  open var lengthInBeats: AVMusicTimeStamp {
    get { (try? track.length) ?? 0 }
    set {
      guard (0...EventTrack.mostBeats).contains(newValue) else { return }
      change("lengthInBeats") { $0.length = newValue > 0 ? newValue : nil }
    }
  }

  /// The length in seconds.
  open var lengthInSeconds: TimeInterval {
    get { track.sequence.tempoMap.seconds(at: lengthInBeats) }
    set { lengthInBeats = track.sequence.tempoMap.beat(at: max(0, newValue)) }
  }

  /// Ticks of a quarter note in files, of the tempo track.
  open var timeResolution: Int { track.sequence.resolution }

  /// True for a track of parameters.
  open var usesAutomatedParameters: Bool {
    get { settings.hasAutomation }
    set { change("usesAutomatedParameters") { $0.hasAutomation = newValue } }
  }

  // MARK: Events

  /// Adds an event, which is copied.
  open func addEvent(_ event: AVMusicEvent, at beat: AVMusicTimeStamp) {
    attempt("addEvent") { () throws(MusicError) in try track.add(event.content, at: beat) }
  }

  /// Moves the events of a range by a number of beats.
  open func moveEvents(in range: AVBeatRange, by beatAmount: AVMusicTimeStamp) {
    attempt("moveEvents") { () throws(MusicError) in
      try track.move(from: range.start, to: range.end, by: beatAmount)
    }
  }

  /// Removes the events of a range.
  open func clearEvents(in range: AVBeatRange) {
    attempt("clearEvents") { () throws(MusicError) in
      try track.remove(from: range.start, to: range.end, closesGap: false)
    }
  }

  /// Removes a range with its events: later ones come earlier.
  open func cutEvents(in range: AVBeatRange) {
    attempt("cutEvents") { () throws(MusicError) in
      try track.remove(from: range.start, to: range.end, closesGap: true)
    }
  }

  /// Inserts a range of another track: later events come later.
  open func copyEvents(
    in range: AVBeatRange, from sourceTrack: AVMusicTrack,
    insertAt insertStartBeat: AVMusicTimeStamp
  ) {
    attempt("copyEvents") { () throws(MusicError) in
      try sourceTrack.track.copy(
        from: range.start, to: range.end, into: track, at: insertStartBeat, makesRoom: true)
    }
  }

  /// Adds the events of a range of another track.
  open func copyAndMergeEvents(
    in range: AVBeatRange, from sourceTrack: AVMusicTrack, mergeAt mergeStartBeat: AVMusicTimeStamp
  ) {
    attempt("copyAndMergeEvents") { () throws(MusicError) in
      try sourceTrack.track.copy(
        from: range.start, to: range.end, into: track, at: mergeStartBeat, makesRoom: false)
    }
  }

  /// Calls a function with each event of a range, in order. It may change or remove the event.
  open func enumerateEvents(in range: AVBeatRange, using block: AVMusicEventEnumerationBlock) {
    attempt("enumerateEvents") { () throws(MusicError) in
      for event in try track.events where event.beat >= range.start && event.beat < range.end {
        let object = AVMusicEvent.make(event.content)
        let before = object.content
        var beat = event.beat
        var removes = ObjCBool(false)
        unsafe block(object, &beat, &removes)
        if removes.boolValue {
          try track.remove(event: event.id)
        } else if beat != event.beat || object.content != before {
          try track.replace(event: event.id, object.content, at: beat)
        }
      }
    }
  }
}

extension AVBeatRange {
  fileprivate var end: AVMusicTimeStamp { start + length }
}
