import AVFAudio
import AudioToolbox
import AudioUnits
import CRealTime
import Foundation
import RealTime
import TestSupport

/// Cost of players, equalisers and a mixer in an AVAudioEngine and as audio units, driven by hand, and a player's memory.
struct EngineCost: Row {
  var players: Int
  /// True if each player has an equaliser with bands of `gains` behind it.
  var haveEqualisers: Bool
  var engineMicroseconds: Spread
  var unitsMicroseconds: Spread
  /// Kilobytes of a player that is attached, connected and scheduled.
  var playerKilobytes: Double

  /// Frames of a cycle.
  static let period = 256
  /// Gains in dB of an equaliser's bands, which pass a constant unchanged.
  static let gains: [Float] = [3, -3, 3, -3]

  static func all(_ effort: Effort, found: (EngineCost) -> Void) throws {
    // Equalisers are plugins of the library.
    if let path = try pluginEnvironment()["LV2_PATH"] { setenv("LV2_PATH", path, 1) }
    for (count, haveEqualisers) in effort.enginePlayers {
      progress("engines: \(count) players")
      let before = memory
      let engine = try PlayersOfEngine(count, haveEqualisers: haveEqualisers)
      let kilobytes = (memory - before) / Double(count)
      let units = try PlayersAsUnits(count, haveEqualisers: haveEqualisers)
      // The bands have settled before the sums are compared.
      for cycle in [engine.cycle, units.cycle] { cycle(400) }
      let cycles = max(16, effort.framesPerRound / period / count)
      var times: [[Double]] = [[], []]
      for _ in 0..<effort.rounds {
        times[0].append(CycleCost.nanoseconds(of: cycles, engine.cycle) / 1000)
        times[1].append(CycleCost.nanoseconds(of: cycles, units.cycle) / 1000)
      }
      try require(engine.last > 0 && abs(engine.last - units.last) < 1e-4, "the sums differ")
      found(
        EngineCost(
          players: count, haveEqualisers: haveEqualisers, engineMicroseconds: Spread(times[0]),
          unitsMicroseconds: Spread(times[1]), playerKilobytes: kilobytes))
    }
  }

  private static func require(_ isTrue: Bool, _ text: String) throws {
    if !isTrue { throw SupportError(text) }
  }

  /// Kilobytes that this process has in memory.
  private static var memory: Double {
    text(of: URL(fileURLWithPath: "/proc/self/status"))
      .firstMatch(of: #/VmRSS:\s*(\d+) kB/#).flatMap { Double($0.output.1) } ?? 0
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "Players of mono buffers and a mixer, cycles of \(period) frames driven by hand, as an AVAudioEngine and as audio"
        + " units (medians, and quartiles)",
      "",
      "players  equalisers" + right("engine", 30) + right("units", 30)
        + "   ratio   kB of a player",
    ]
  }

  static func plots(_ rows: [EngineCost]) -> [Plot] {
    let rows = rows.filter { !$0.haveEqualisers }
    return [
      Plot(
        name: "engines", title: "Players and a mixer in cycles of \(period) frames", x: "players",
        y: "microseconds",
        [
          Plot.Curve("AVAudioEngine", rows) { (Double($0.players), $0.engineMicroseconds.median) },
          Plot.Curve("audio units", rows) { (Double($0.players), $0.unitsMicroseconds.median) },
        ])
    ]
  }

  func lines(after rows: [EngineCost]) -> [String] {
    [
      right("\(players)", 7) + right(haveEqualisers ? "\(players)" : "-", 12)
        + right("\(engineMicroseconds.text(2)) µs", 30)
        + right("\(unitsMicroseconds.text(2)) µs", 30)
        + right(number(engineMicroseconds.median / unitsMicroseconds.median, 2), 8)
        + right(number(playerKilobytes, 1), 17)
    ]
  }
}

/// An engine in manual rendering whose players repeat a buffer.
private final class PlayersOfEngine {
  private let engine = AVAudioEngine()
  private let output: AVAudioPCMBuffer

  init(_ count: Int, haveEqualisers: Bool) throws {
    let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channels: 1)!
    let frames = AVAudioFrameCount(EngineCost.period)
    try engine.enableManualRenderingMode(.realtime, format: format, maximumFrameCount: frames)
    output = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: frames)!
    output.frameLength = frames
    let sound = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 48_000)!
    sound.frameLength = 48_000
    for i in 0..<48_000 { sound.floatChannelData![0][i] = 1 / Float(count) }
    let players = (0..<count).map { _ in AVAudioPlayerNode() }
    for player in players {
      engine.attach(player)
      if haveEqualisers {
        let equaliser = AVAudioUnitEQ(numberOfBands: EngineCost.gains.count)
        for (band, gain) in zip(equaliser.bands, EngineCost.gains) {
          (band.gain, band.bypass) = (gain, false)
        }
        engine.attach(equaliser)
        engine.connect(player, to: equaliser, format: format)
        engine.connect(equaliser, to: engine.mainMixerNode, format: format)
      } else {
        engine.connect(player, to: engine.mainMixerNode, format: format)
      }
      player.scheduleBuffer(sound, at: nil, options: .loops)
    }
    try engine.start()
    for player in players { player.play() }
  }

  /// Renders a number of cycles.
  func cycle(_ count: Int) {
    let render = engine.manualRenderingBlock
    for _ in 0..<count {
      _ = render(output.frameCapacity, output.mutableAudioBufferList, nil)
    }
  }

  /// A sample of the latest cycle.
  var last: Float { output.floatChannelData![0][EngineCost.period - 1] }
}

/// Scheduled sound players and a mixer as audio units, which repeat one slice.
private final class PlayersAsUnits {
  private let mixer: AudioUnits.Unit
  private let players: [PlayerUnit]
  private let equalisers: [AudioUnits.Unit]
  private let slice = MonoBuffer(frames: 480_000)
  private let output = MonoBuffer(frames: EngineCost.period)
  private var time = cue_time_stamp()

  init(_ count: Int, haveEqualisers: Bool) throws {
    guard let format = BusFormat.planar(channels: 1, sampleRate: 48000) else {
      preconditionFailure("mono is a format")
    }
    slice.samples.update(repeating: 1 / Float(count), count: slice.frames)
    time.flags = UInt32(cue_time_has_sample)
    func make(_ kind: UnitKind) throws -> AudioUnits.Unit {
      try kind.make(on: { preconditionFailure("it is on no device") })
    }
    mixer = try make(.multiChannelMixer)
    try mixer.setBusCount(count, .input)
    players = try (0..<count).map { _ in
      guard let player = try make(.soundPlayer) as? PlayerUnit else {
        preconditionFailure("it is a player")
      }
      return player
    }
    equalisers = try (0..<(haveEqualisers ? count : 0)).map { _ in try make(.nBandEQ) }
    for (bus, player) in players.enumerated() {
      try player.setFormat(format, .output, 0)
      var source: AudioUnits.Unit = player
      if haveEqualisers {
        source = equalisers[bus]
        try source.setFormat(format, .input, 0)
        try source.setFormat(format, .output, 0)
        try source.connect(player, output: 0, to: 0)
        for (band, gain) in EngineCost.gains.enumerated() {
          for (id, value) in [(kAUNBandEQParam_Gain, gain), (kAUNBandEQParam_BypassBand, 0)] {
            _ = source.render.pointee.setParameter(
              id + UInt32(band), scope: 0, element: 0, to: value)
          }
        }
      }
      try mixer.setFormat(format, .input, UInt32(bus))
      try mixer.connect(source, output: 0, to: UInt32(bus))
    }
    try mixer.setFormat(format, .output, 0)
    for unit in players + equalisers + [mixer] { try unit.initialize() }
    for player in players {
      for _ in 0..<1000 { try player.play(slice.list, frames: slice.frames, start: nil) { _ in } }
      try player.start(.nextRender)
    }
  }

  deinit { for unit in [mixer] + equalisers + players { unit.dispose() } }

  /// Renders a number of cycles.
  func cycle(_ count: Int) {
    for _ in 0..<count {
      output.reset()
      var flags: UInt32 = 0
      _ = mixer.render.pointee.render(
        &flags, &time, bus: 0, frames: EngineCost.period, output.list)
      time.sample_time += Double(EngineCost.period)
    }
  }

  /// A sample of the latest cycle.
  var last: Float { output.samples[EngineCost.period - 1] }
}

/// A list of one buffer of floats.
private final class MonoBuffer {
  let frames: Int
  let list = UnsafeMutablePointer<cue_buffer_list>.allocate(capacity: 1)
  let samples: UnsafeMutablePointer<Float>

  init(frames: Int) {
    self.frames = frames
    samples = .allocate(capacity: frames)
    samples.initialize(repeating: 0, count: frames)
    reset()
  }

  deinit {
    samples.deallocate()
    list.deallocate()
  }

  /// Lets the list have the whole buffer.
  func reset() {
    list.pointee.count = 1
    cue_rt_buffers(list)[0] = cue_buffer(channels: 1, bytes: UInt32(4 * frames), data: samples)
  }
}
