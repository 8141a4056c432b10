import AudioUnits
import Hardware
import Logging
import MIDI
import RealTime
import Server
import Synchronization
import System

/// A player of a sequence. Any thread that is not real time.
///
/// Each unit of the sequence counts its own frames while it renders, from the render on in which the clock's unit has
/// begun: see `SequenceFeed`. A change of the sequence takes effect with the next render.
package final class SequencePlayer: Sendable {
  private struct State: Sendable {
    var sequence: EventSequence?
    var isPlaying = false
    var rate = 1.0
    /// The beat from which the sequence is played, and the number of the jump that went there.
    var start = 0.0
    var jump = 0
    var serial = 0
    var tempo = TempoMap([])
    var tempoNumber = 1
    var setup: ProgramMemory?
    var clock: FeedMemory?
    var feeds: [FeedMemory] = []
    /// The device of the feeds that play ports. It stays open as long.
    var device: HardwareDevice?
    var teller: UserEventTeller?
  }
  private let state = Mutex(State())
  /// Held while the player is changed. Lock it before `state`.
  private let control = Mutex<Void>(())
  private let memory = ClockMemory()

  package init() {}

  deinit {
    // Nobody else has the player.
    end()
  }

  private var current: State { state.withLock { $0 } }

  // MARK: The sequence

  package var sequence: EventSequence? { current.sequence }

  /// Sets the sequence; nil for none.
  ///
  /// - Throws: `MusicError.invalidState` while one is played.
  package func setSequence(_ sequence: EventSequence?) throws(MusicError) {
    try control.withLock { _ throws(MusicError) in
      if current.isPlaying { throw .invalidState("the player plays") }
      let old = current.sequence
      if old === sequence { return }
      old?.remove(self)
      removeFeeds()
      state.withLock { $0.sequence = sequence }
      sequence?.add(self)
      jump(to: 0)
    }
  }

  /// Ends playing, and lets go of the sequence and the units.
  package func end() {
    stop()
    control.withLock { _ in
      current.sequence?.remove(self)
      removeFeeds()
      state.withLock { $0.sequence = nil }
    }
  }

  // MARK: Time

  /// The beat up to which the sequence was rendered, or at which it will begin.
  package var beat: Double {
    let (start, jump) = state.withLock { ($0.start, $0.jump) }
    return unsafe memory.clock.pointee.appliedJump == jump ? memory.clock.pointee.beat : start
  }

  /// Goes to a beat.
  package func setBeat(_ beat: Double) throws(MusicError) {
    guard (0...EventTrack.mostBeats).contains(beat) else {
      throw .badArgument("\(beat) is no beat of a sequence")
    }
    control.withLock { _ in jump(to: beat) }
  }

  /// Call it with `control`.
  private func jump(to beat: Double) {
    let isPlaying = state.withLock { state in
      state.start = beat
      state.jump += 1
      return state.isPlaying
    }
    if isPlaying { install() }
  }

  package var rate: Double { current.rate }

  /// Sets how much faster than its tempo the sequence is played.
  package func setRate(_ rate: Double) throws(MusicError) {
    guard (1e-3...1e3).contains(rate) else { throw .badArgument("\(rate) is no rate of playing") }
    control.withLock { _ in
      let isPlaying = state.withLock { state in
        state.rate = rate
        return state.isPlaying
      }
      if isPlaying { install() }
    }
  }

  /// Returns the host time of a beat in nanoseconds.
  ///
  /// - Throws: `MusicError.invalidState` unless the sequence is played by a device.
  package func hostTime(ofBeat beat: Double) throws(MusicError) -> UInt64 {
    let (reading, tempo, rate) = try reading()
    let seconds = (tempo.seconds(at: beat) - reading.seconds) / rate
    let time = Double(reading.hostTime) + seconds * 1e9
    guard time >= 0, time < 0x1p63 else { throw .badArgument("the beat \(beat) has no host time") }
    return UInt64(time)
  }

  /// Returns the beat at a host time in nanoseconds.
  ///
  /// - Throws: `MusicError.invalidState` unless the sequence is played by a device.
  package func beat(atHostTime time: UInt64) throws(MusicError) -> Double {
    let (reading, tempo, rate) = try reading()
    let distance = Double(Int64(bitPattern: time &- reading.hostTime)) / 1e9
    return tempo.beat(at: reading.seconds + distance * rate)
  }

  private func reading() throws(MusicError) -> (
    (seconds: Double, hostTime: UInt64), TempoMap, rate: Double
  ) {
    let state = current
    if state.sequence == nil { throw .noSequence }
    guard state.isPlaying, let reading = unsafe memory.clock.pointee.reading else {
      throw .invalidState("no device plays the sequence")
    }
    return (reading, state.tempo, state.rate)
  }

  // MARK: Playing

  package var isPlaying: Bool { current.isPlaying }

  /// Makes the units that play.
  ///
  /// - Throws: `MusicError`: there is no sequence, or nothing that plays it.
  package func prepare() throws(MusicError) {
    try control.withLock { _ throws(MusicError) in _ = try target() }
  }

  private func target() throws(MusicError) -> any SequenceTarget {
    guard let sequence = current.sequence else { throw .noSequence }
    guard let target = sequence.target else {
      throw .noDestination("the sequence has no graph or engine")
    }
    try target.prepare()
    guard target.clock != nil else { throw .noDestination("nothing renders the sequence") }
    return target
  }

  /// Plays the sequence, from the next render of the target on.
  package func start() throws(MusicError) {
    try control.withLock { _ throws(MusicError) in
      if current.isPlaying { throw .invalidState("the player plays already") }
      let target = try target()
      let beat = beat
      // A graph that was closed has other units than before.
      removeFeeds()
      state.withLock { state in
        state.isPlaying = true
        state.start = beat
        state.jump += 1
      }
      unsafe memory.clock.pointee.clearReading()
      install()
      do throws(MusicError) { try target.start() } catch {
        halt()
        throw error
      }
      tellUserEvents()
    }
  }

  /// Ends playing, with the notes that sound. Has no effect on a player that does not play.
  package func stop() {
    let teller = control.withLock { _ -> UserEventTeller? in
      guard current.isPlaying else { return nil }
      halt()
      return state.withLock { state in
        defer { state.teller = nil }
        return state.teller
      }
    }
    teller?.end()
  }

  /// Call it with `control`.
  private func halt() {
    state.withLock { $0.isPlaying = false }
    install()
    let beat = beat
    state.withLock { state in
      state.start = beat
      state.jump += 1
    }
  }

  /// The sequence has another content or other settings.
  func sequenceChanged() {
    control.withLock { _ in
      if current.isPlaying {
        install()
        tellUserEvents()
      }
    }
  }

  // MARK: What renders read

  /// Gives renders the present sequence and state. Call it with `control`.
  private func install() {
    let state = current
    guard let sequence = state.sequence, let target = sequence.target else { return }
    let content = sequence.current
    if state.isPlaying {
      setClock(target.clock)
      let tempo = TempoMap(content.tempoTrack.events)
      self.state.withLock { state in
        if state.tempo == tempo { return }
        state.tempo = tempo
        state.tempoNumber += 1
      }
    }
    var program = Program()
    if state.isPlaying {
      let hasSolo = content.tracks.contains { $0.settings.isSoloed }
      for track in content.tracks where !track.settings.isMuted {
        if hasSolo && !track.settings.isSoloed { continue }
        let unit: Unit?
        switch track.settings.destination {
        case .none: unit = target.instrument
        case .node(let node): unit = target.unit(ofNode: node)
        case .unit(let own): unit = own
        case .endpoint(let endpoint):
          if let feed = feed(endpoint, target) { program.add(track, feed: feed) }
          continue
        }
        guard let unit, !unit.isDisposed else { continue }
        program.add(track, feed: feed(unit))
      }
    }
    let setup = self.state.withLock { state in
      state.serial += 1
      let new = ProgramMemory(
        program, feedCount: state.feeds.count, serial: state.serial, tempo: state.tempo,
        tempoNumber: state.tempoNumber, isPlaying: state.isPlaying, rate: state.rate,
        start: state.start, jump: state.jump)
      defer { state.setup = new }
      return (new: new, old: state.setup)
    }
    unsafe memory.clock.pointee.swap(setup.new.setup)
    if let old = setup.old, !settle() { keepForGood(old) }
  }

  /// Waits until no unit of the player renders.
  ///
  /// - Returns: False if one still does.
  private func settle() -> Bool {
    let state = current
    return (state.feeds + [state.clock].compactMap { $0 }).allSatisfy { $0.unit.settle() }
  }

  /// Returns the number of a unit's feed.
  private func feed(_ unit: Unit) -> Int {
    state.withLock { state in
      if let known = state.feeds.firstIndex(where: { $0.port == nil && $0.unit === unit }) {
        return known
      }
      state.feeds.append(FeedMemory(unit, memory, index: state.feeds.count))
      return state.feeds.count - 1
    }
  }

  /// Returns the number of the feed that plays to a destination of MIDI messages; nil if it cannot be reached, which
  /// the log tells, or if the program renders.
  private func feed(_ endpoint: MIDIEndpoint, _ target: any SequenceTarget) -> Int? {
    let known = state.withLock { state in
      state.feeds.firstIndex { $0.port?.endpoint === endpoint }
    }
    if let known { return known }
    guard let clock = target.clock, let device = target.device else { return nil }
    let port: MIDIPlayPort
    do throws(ServerError) {
      let opened = try device.open()
      port = try MIDIPlayPort(to: endpoint, on: opened)
    } catch {
      log.error("a sequence cannot be played to “\(endpoint.port)”: \(error)")
      return nil
    }
    return state.withLock { state in
      if state.device == nil {
        device.beginUse()
        state.device = device
      }
      state.feeds.append(FeedMemory(clock, memory, index: state.feeds.count, port: port))
      return state.feeds.count - 1
    }
  }

  private func setClock(_ unit: Unit?) {
    guard let unit, current.clock?.unit !== unit else { return }
    let feed = FeedMemory(unit, memory, index: nil)
    let old = state.withLock { state in
      defer { state.clock = feed }
      return state.clock
    }
    old?.remove()
  }

  /// Lets go of all units.
  private func removeFeeds() {
    let (feeds, clock, setup, device) = state.withLock { state in
      defer { (state.feeds, state.clock, state.setup, state.device) = ([], nil, nil, nil) }
      return (state.feeds, state.clock, state.setup, state.device)
    }
    unsafe memory.clock.pointee.swap(nil)
    for feed in feeds + [clock].compactMap({ $0 }) { feed.remove() }
    device?.endUse()
    // A render that has not returned may read it.
    if let setup, !feeds.allSatisfy({ $0.unit.settle() }) || clock?.unit.settle() == false {
      keepForGood(setup)
    }
  }

  // MARK: Events of the program

  /// Tells a function of the program of its events, while there are any. Call it with `control`.
  private func tellUserEvents() {
    let state = current
    guard let sequence = state.sequence, state.teller == nil, sequence.userCallback != nil,
      sequence.current.tracks.contains(where: \.hasUserEvents)
    else { return }
    let teller = UserEventTeller(sequence) { [weak self] in
      guard let self else { return nil }
      let state = self.state.withLock { ($0.isPlaying, $0.jump, $0.start) }
      return UserEventTeller.Reading(
        isPlaying: state.0, jump: state.1, start: state.2, beat: beat)
    }
    self.state.withLock { $0.teller = teller }
    teller.begin()
  }
}

extension EventSequence.Track {
  var hasUserEvents: Bool {
    events.contains { if case .user = $0.content { true } else { false } }
  }
}
