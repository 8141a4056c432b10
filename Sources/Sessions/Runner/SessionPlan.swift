import Glibc
import System
import Timeline

/// The conversion between a session's times and device frames. A value.
package struct SessionTimescale: Sendable, Equatable {
  /// Device frames per second.
  package let sampleRate: Double
  package let tempo: SessionTransport

  package init(sampleRate: Double, tempo: SessionTransport) {
    self.sampleRate = sampleRate
    self.tempo = tempo
  }

  /// Returns the frame of a start on the session's timeline.
  package func frame(of start: SessionStart) -> Int64 {
    if case .frame(let frame) = start { return frame }
    return Int64(held: (start.seconds(sampleRate: sampleRate, tempo: tempo) * sampleRate).rounded())
  }

  /// Returns the frames of a delay in milliseconds.
  package func frames(of delay: Double) -> Int {
    Int(held: (delay / 1000 * sampleRate).rounded())
  }

  package func seconds(of frame: Int64) -> Double { Double(frame) / sampleRate }
}

/// What a session's tracks play, where and when, at a device's sample rate. A value without any
/// connection to files or servers.
package struct SessionPlan: Sendable {
  /// A track's sound on the session's timeline.
  package struct Track: Sendable {
    package let name: String
    package let facts: SoundFacts
    /// The part of the sound to play, with rate, pitch and fades; volume and pan are the mixer's.
    package let clip: Clip
    /// Position of the clip's first frame, in device frames.
    package let start: Int64
    /// Device frames that a frame of the clip lasts.
    package let framesPerFrame: Double

    /// Length in device frames; nil for an endless loop.
    package var length: Int64? {
      clip.frames.map { Int64(held: (Double($0) * framesPerFrame).rounded()) }
    }
    /// Position after the last frame; nil for an endless loop.
    package var end: Int64? { length.map { start + $0 } }

    /// Returns what to play for a run of the session that begins at `position`: the clip's first frame,
    /// and the device frames until it sounds. Nil if the track is over by then.
    package func run(from position: Int64) -> (frame: Int64, delay: Int64)? {
      if position <= start { return clip.frames == 0 ? nil : (0, start - position) }
      let frame = Int64(held: (Double(position - start) / framesPerFrame).rounded())
      if let frames = clip.frames, frame >= frames { return nil }
      return (frame, 0)
    }
  }

  /// The JACK ports of a track or bus, in order.
  package struct Outlet: Sendable, Equatable {
    package let ports: [String]
    /// Ports of other clients to connect them to, in order; nil for those of the sound card.
    package let destinations: [String]?
  }

  package let timeline: SessionTimescale
  package let tracks: [Track]
  /// The ports of tracks and buses that do not go to a bus.
  package let trackOutlets: [Int: Outlet]
  package let busOutlets: [Int: Outlet]
  /// The ports of the sends, in order, which programs of their own are connected to.
  package let sendPorts: [[String]]
  /// Indices of the tracks that start together: first those that are in no group, then each group's.
  package let groups: [(group: SessionGroup?, tracks: [Int])]

  /// Position after the last frame of all tracks; nil if one is endless.
  package var end: Int64? {
    var end: Int64 = 0
    for track in tracks {
      guard let last = track.end else { return nil }
      end = max(end, last)
    }
    return end
  }

  /// Creates the plan of a session.
  ///
  /// - Parameters:
  ///   - facts: The sounds of the tracks, in order.
  ///   - sampleRate: The device's, in Hz.
  ///   - named: The session's ports that its connections name, without the client's name.
  package init(
    _ document: SessionDocument, facts: [SoundFacts], sampleRate: Double, named: Set<String> = []
  ) {
    let timeline = SessionTimescale(sampleRate: sampleRate, tempo: document.transport)
    self.timeline = timeline
    tracks = zip(document.tracks, facts).map { track, facts in
      Track(
        name: track.name, facts: facts, clip: Self.clip(of: track, facts),
        start: timeline.frame(of: track.start),
        framesPerFrame: sampleRate / (facts.sampleRate * track.rate))
    }
    let panned = Self.panned(document)
    var taken: Set<String> = []
    var outlets: [Int: Outlet] = [:]
    for (index, track) in document.tracks.enumerated() where track.bus == nil {
      let channels = facts[index].channels
      // Balance needs two channels.
      let count = channels == 1 && panned.contains(index) ? 2 : channels
      outlets[index] = Self.outlet(track.name, count, track.ports, named, &taken)
    }
    trackOutlets = outlets
    outlets = [:]
    for (index, bus) in document.buses.enumerated() where bus.bus == nil {
      outlets[index] = Self.outlet(bus.name, bus.channels, bus.ports, [], &taken)
    }
    busOutlets = outlets
    sendPorts = document.sends.map { send in
      let bus = document.buses.first { $0.name.isSameName(as: send.bus) }
      return Self.outlet(send.name, bus?.channels ?? 1, [], [], &taken).ports
    }
    groups = Self.groups(of: document)
  }

  /// The tracks whose balance is not always in the middle.
  private static func panned(_ document: SessionDocument) -> Set<Int> {
    var panned = Set(document.tracks.indices.filter { document.tracks[$0].pan != 0 })
    let targets = document.automation.isEmpty ? nil : SessionTargets(document)
    for curve in document.automation {
      if let target = targets?.target(written: curve.target), target.value == .pan {
        panned.insert(target.owner)
      }
    }
    return panned
  }

  private static func clip(of track: SessionTrack, _ facts: SoundFacts) -> Clip {
    func frame(_ seconds: Double) -> Int64 {
      min(facts.frames, Int64(held: (seconds * facts.sampleRate).rounded()))
    }
    let first = frame(track.trimStart)
    let part = first..<max(first, track.trimEnd.map(frame) ?? facts.frames)
    var clip = Clip(part: part, rate: track.rate, cents: track.pitch)
    // A loop of nothing is nothing.
    clip.frames = track.loop && !part.isEmpty ? nil : Int64(part.count)
    clip.fadeIn = track.fadeIn
    clip.fadeOut = track.fadeOut
    return clip
  }

  /// Names the ports of a track or bus. A single channel keeps a second port that is `named`: patchbays know
  /// it.
  private static func outlet(
    _ name: String, _ channels: Int, _ destinations: [String]?, _ named: Set<String>,
    _ taken: inout Set<String>
  ) -> Outlet {
    let first = SessionDocument.portStem(for: name)
    func isFree(_ stem: String, _ channels: Int) -> Bool {
      (1...channels).allSatisfy { !taken.contains("\(stem)_\($0)") }
    }
    let stem =
      ([first] + (2...1000).map { "\(first)-\($0)" }).first { isFree($0, channels) } ?? first
    let keepsSecond = channels == 1 && named.contains("\(stem)_2") && isFree(stem, 2)
    let ports = (1...(keepsSecond ? 2 : channels)).map { "\(stem)_\($0)" }
    taken.formUnion(ports)
    return Outlet(ports: ports, destinations: destinations)
  }

  private static func groups(of document: SessionDocument) -> [(SessionGroup?, [Int])] {
    var left = Set(document.tracks.indices)
    var groups: [(SessionGroup?, [Int])] = []
    for group in document.groups {
      let members = Set(group.tracks.map(Name.init))
      let tracks = document.tracks.indices.filter {
        left.contains($0) && members.contains(Name(document.tracks[$0].name))
      }
      left.subtract(tracks)
      groups.append((group, tracks))
    }
    return [(nil, left.sorted())] + groups
  }
}

// MARK: - Mixing

extension SessionDocument {
  /// Returns a track's gain with mute and solo, as a factor.
  package func gain(ofTrack index: Int) -> Float {
    let track = tracks[index]
    return isSilent(track) ? 0 : factor(decibels: track.volume)
  }

  /// Returns a bus's gain with mute, as a factor.
  package func gain(ofBus index: Int) -> Float {
    buses[index].mute ? 0 : factor(decibels: buses[index].gain)
  }

  /// Returns the milliseconds by which a track is late where its sound leaves the session.
  package func delay(ofTrack index: Int) -> Double {
    let ways = Dictionary(
      buses.map { (Name($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    var delay = tracks[index].delay
    var bus = tracks[index].bus
    // A faulty document may have a cycle of buses.
    for _ in buses {
      guard let next = bus.flatMap({ ways[Name($0)] }) else { break }
      delay += next.delay
      bus = next.bus
    }
    return delay
  }

  /// Returns the wires from a sound's channels to the channels of what receives it: one to one, a single
  /// channel to the first two, and more channels than there are others added with equal shares.
  static func wires(from channels: Int, to others: Int) -> [(from: Int, to: Int, share: Float)] {
    if channels == 1 { return (0..<min(2, others)).map { (0, $0, 1) } }
    if channels <= others { return (0..<channels).map { ($0, $0, 1) } }
    return (0..<channels).map { channel in
      let other = channel % others
      return (channel, other, 1 / Float((channels - other + others - 1) / others))
    }
  }
}
