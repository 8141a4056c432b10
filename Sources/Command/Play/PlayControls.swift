import AudioQueue
import Codecs
import Control
import RealTime
import Server
import Sessions
import System

/// The addresses of `cuejack play`. Main thread.
struct PlayControls {
  private let keys: PlayKeys
  private let players: [FilePlayer]
  private let monitor: PlayMonitor
  private let chain: ChainControls?

  init(_ keys: PlayKeys, _ players: [FilePlayer], _ monitor: PlayMonitor, _ chain: ChainControls?) {
    self.keys = keys
    self.players = players
    self.monitor = monitor
    self.chain = chain
  }

  /// A number that changes with the addresses.
  var layout: Int { chain?.layout ?? 0 }

  /// All addresses, on the device of the first file.
  func all(on device: Device) -> [CommandControl] {
    motion(on: device) + sound + CommandControl.client(device, quit: keys.quit)
      + players.indices.flatMap(track) + (chain?.all() ?? [])
  }

  private func motion(on device: Device) -> [CommandControl] {
    let keys = keys
    return [
      .action("start", "start all files on one frame, or go on") { _ in try keys.play() },
      .action(
        "start/at", types: "h", range: 0...9e15, unit: "frames",
        "start on a frame of JACK's frame time"
      ) { try keys.play(at: device.frame(numbered: Int64($0[0].number ?? 0))) },
      .action("stop", "stop all files and go back to the beginning") { _ in try keys.stop() },
      .action("pause", "pause all files, or go on") { _ in try keys.toggle() },
      .action("next", "move to the next file of a sequence") { _ in try keys.step(1) },
      .action("previous", "move to the previous file of a sequence") { _ in try keys.step(-1) },
      .action("locate", types: "d", range: 0...1e9, unit: "s", "move to a position") {
        try keys.locate(to: $0[0].number ?? 0)
      },
      .action("move", types: "d", range: -1e9...1e9, unit: "s", "move by a time") {
        try keys.move(by: $0[0].number ?? 0)
      },
      .state("running", types: "T", "whether the files play") { .bool(!keys.isPaused) },
      .state("motion", types: "s", "stopped, waiting, playing or paused") {
        .string(keys.motion)
      },
      .state("start/time", types: "s", "the start that the files wait for, as --at takes it") {
        .string(keys.awaitedStart)
      },
      .meter("position", types: "d", unit: "s", "the position") {
        let clock = keys.clock
        return .live { [.double(clock.position)] }
      },
    ]
  }

  private var sound: [CommandControl] {
    let keys = keys
    var controls: [CommandControl] = [
      .parameter(
        "gain", range: CommandControl.gains, unit: "dB", "the gain of all files",
        { .float(Float(keys.gain)) }, { keys.setGain($0.decimal) }),
      .flag("mute", "whether all files are silent", { keys.isMuted }, { keys.setMuted($0) }),
      .flag(
        "loop", "whether the files repeat without end", { keys.isLooping }, { keys.setLooping($0) }),
    ]
    controls.append(
      .parameter(
        "replaygain", types: "s", "the tags that give the files their gain: off, track or album",
        { .string(keys.replayGain) }, { try keys.setReplayGain($0.text ?? "") }))
    guard keys.speed != nil, TimePitch.isAvailable else { return controls }
    controls.append(
      .parameter(
        "rate", range: TimePitch.rates, "the speed, at the same pitch",
        { .float(Float(keys.speed?.rate ?? 1)) }, { try keys.setSpeed(rate: $0.decimal) }))
    controls.append(
      .parameter(
        "pitch", range: TimePitch.cents, unit: "ct", "the pitch shift, at the same speed",
        { .float(Float(keys.speed?.cents ?? 0)) }, { try keys.setSpeed(cents: $0.decimal) }))
    return controls
  }

  private func track(_ index: Int) -> [CommandControl] {
    let (keys, monitor, player) = (keys, monitor, players[index])
    let name = "tracks/\(index + 1)"
    let file = printable(fileName(player.file.path))
    let channels = player.file.format.channels
    var controls: [CommandControl] = [
      .state("\(name)/name", types: "s", "the name of file \(index + 1)") {
        .string(String(file.pathStem))
      },
      .state("\(name)/file", types: "s", "the file that plays, of several that follow each other") {
        .string(printable(player.name(at: keys.position(of: player))))
      },
      .state("\(name)/failure", types: "s", "which sound of file \(index + 1) is missing") {
        .string(player.faults.joined(separator: "\n"))
      },
      .parameter(
        "\(name)/gain", range: -120...36, unit: "dB", "the gain of \(file)",
        { .float(Float(keys.gain(ofFile: index))) },
        { try keys.setGain($0.decimal, ofFile: index) }),
      .flag(
        "\(name)/mute", "whether \(file) is silent", { keys.muted.contains(index) },
        { keys.setMuted($0, file: index) }),
      .flag(
        "\(name)/solo", "whether only \(file) is heard", { keys.solo.contains(index) },
        { keys.setSolo($0, file: index) }),
      .meter(
        "\(name)/peak", types: String(repeating: "f", count: channels), unit: "dB",
        "the peaks of \(file)"
      ) { .values(monitor.peaks(ofPlayer: index, channels: channels).map { .float($0) }) },
    ]
    // The balance of a mono file before plugins is that of its wires.
    if channels == 2 || channels == 1 && chain == nil {
      controls.append(
        .parameter(
          "\(name)/pan", range: -1...1, "the balance of \(file)",
          { .float(player.queue.parameters.pan) },
          { try player.queue.change(ParameterChanges(pan: Float($0.decimal))) }))
    }
    return controls
  }
}

extension OSCValue {
  /// The number with the digits that people gave: a float's own, not those of its double.
  var decimal: Double {
    if case .float(let number) = self { return Double("\(number)") ?? Double(number) }
    return number ?? 0
  }
}
