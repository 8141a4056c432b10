import Glibc
import PluginHost
import Server
import Sessions
import System
import Timeline

// The addresses of a session: docs/remote.md lists them. Tracks, buses, recordings, groups and plugins
// count from 1.

extension RemoteControl {
  /// Returns everything that a session offers. If two things have one address, the first one counts.
  static func all(of engine: SessionEngine) -> [RemoteControl] {
    let document = engine.document
    return whole(document) + scenes(document)
      + document.tracks.indices.flatMap { track($0, engine) }
      + document.buses.indices.flatMap { bus($0, engine) }
      + document.sends.indices.flatMap { send($0) }
      + document.recordings.indices.flatMap { recording($0) }
      + document.groups.indices.flatMap { group($0, document.groups[$0]) }
  }

  /// The keys of the terminal, the position and the health of the session.
  private static func whole(_ document: SessionDocument) -> [RemoteControl] {
    var controls: [RemoteControl] = [
      .action("start", "start all armed tracks on one frame") {
        session, _ throws(SessionRunError) in
        try session.start()
      },
      .action(
        "start/at", types: "h", range: 0...9e15, unit: "frames",
        "start on a frame of JACK's frame time"
      ) { session, values throws(SessionRunError) in
        try session.start(atFrame: Int64(values[0].number ?? 0))
      },
      .action("stop", "stop all tracks and go back to the beginning") {
        session, _ throws(SessionRunError) in try session.stop()
      },
      .action("pause", "pause all tracks, or go on") { session, _ throws(SessionRunError) in
        try session.pause()
      },
      .action("next", "move to the next start of a track") { session, _ throws(SessionRunError) in
        try session.next()
      },
      .action("locate", types: "d", range: 0...1e9, unit: "s", "move to a position") {
        session, values throws(SessionRunError) in
        try session.locate(to: values[0].number ?? 0)
      },
      .action("move", types: "d", range: -1e9...1e9, unit: "s", "move by a time") {
        session, values throws(SessionRunError) in
        try session.locate(to: max(0, session.position + (values[0].number ?? 0)))
      },
      RemoteControl(
        node: RemoteNode("save", .action, summary: "save the session"), read: { _, _ in nil },
        act: .save),
      .action("quit", "end the session; edits that are not saved stay in its journal") {
        session, _ in session.askToQuit()
      },
      .reading("name", types: "s", "the name of the session") { _, engine in
        [.string(engine.document.name)]
      },
      .reading("running", types: "T", "whether the session plays") { _, engine in
        [.bool(engine.isPlaying)]
      },
      .reading("motion", types: "s", "stopped, waiting, playing or paused") { _, engine in
        [.string(engine.motionWord)]
      },
      .reading("recording", types: "T", "whether the session records") { _, engine in
        [.bool(engine.isRecording)]
      },
      .reading("dirty", types: "T", "whether there are unsaved changes") { session, _ in
        [.bool(session.hasEdits)]
      },
      .reading("waiting", types: "s", "the connections that wait for other clients") { _, engine in
        let lines = SessionConnection.waitingLines(
          engine.waitingConnections, of: engine.device.client.name)
        return [.string(lines.joined(separator: "\n"))]
      },
      .reading("position", .meter, types: "d", unit: "s", "the position") { session, _ in
        [.double(session.position)]
      },
      .reading("frame", .meter, types: "h", unit: "frames", "JACK's frame time") { _, engine in
        [.long(engine.device.now)]
      },
      .reading("load", .meter, types: "f", unit: "%", "the server's load") { _, engine in
        [.float(engine.device.client.load)]
      },
      .reading("xruns", types: "i", "xruns since the session was opened") { _, engine in
        [.int(Int32(clamping: engine.device.xruns))]
      },
    ]
    if !document.recordings.isEmpty {
      let armed = RemoteNode(
        "armed", .parameter, types: "T", summary: "whether all recordings are armed")
      controls.append(
        RemoteControl(
          node: armed,
          read: { _, engine in [.bool(engine.document.recordings.allSatisfy(\.armed))] },
          act: .now { session, values throws(SessionRunError) in
            try session.arm(values.first == .bool(true))
          }))
    }
    return controls
  }

  // MARK: Tracks and buses

  private static func track(_ index: Int, _ engine: SessionEngine) -> [RemoteControl] {
    let name = "tracks/\(index + 1)"
    let path = SessionPath([.key("tracks"), .index(index)])
    let channels = engine.plan.tracks[index].facts.channels
    var controls: [RemoteControl] = [
      .reading("\(name)/name", types: "s", "the name of track \(index + 1)") { _, engine in
        [.string(engine.document.tracks[index].name)]
      },
      .reading("\(name)/failure", types: "s", "which sound of track \(index + 1) is missing") {
        _, engine in [.string(engine.failure(ofTrack: index))]
      },
      .value(
        "\(name)/gain", path.appending(key: "gain"), types: "f", range: -120...24, unit: "dB",
        "the gain of track \(index + 1)"
      ) { .float(Float($0.tracks[index].volume)) },
      .value(
        "\(name)/mute", path.appending(key: "mute"), types: "T",
        "whether track \(index + 1) is silent"
      ) { .bool($0.tracks[index].mute) },
      .value(
        "\(name)/solo", path.appending(key: "solo"), types: "T",
        "whether only track \(index + 1) is heard"
      ) { .bool($0.tracks[index].solo) },
      delay(name, path, "track \(index + 1)") { $0.tracks[index].delay },
      .reading(
        "\(name)/peak", .meter, types: String(repeating: "f", count: channels), unit: "dB",
        "the peaks of track \(index + 1), which fall by 20 dB per second"
      ) { session, _ in
        let peaks = session.trackPeaks
        return (0..<channels).map { channel in
          let peak =
            peaks.indices.contains(index) && peaks[index].indices.contains(channel)
            ? peaks[index][channel] : 0
          return .float(decibels(peak, atLeast: -120))
        }
      },
    ]
    // A track with one port has no balance.
    if engine.session.canPan(index) {
      controls.insert(
        .value(
          "\(name)/pan", path.appending(key: "pan"), types: "f", range: -1...1,
          "the balance of track \(index + 1)"
        ) { .float(Float($0.tracks[index].pan)) }, at: 4)
    }
    return controls
      + chain(name, path, engine.document.tracks[index].chain.count, engine) {
        $0.tracks[index].chain
      }
  }

  private static func bus(_ index: Int, _ engine: SessionEngine) -> [RemoteControl] {
    let name = "buses/\(index + 1)"
    let path = SessionPath([.key("buses"), .index(index)])
    return [
      .reading("\(name)/name", types: "s", "the name of bus \(index + 1)") { _, engine in
        [.string(engine.document.buses[index].name)]
      },
      .value(
        "\(name)/gain", path.appending(key: "gain"), types: "f", range: -120...24, unit: "dB",
        "the gain of bus \(index + 1)"
      ) { .float(Float($0.buses[index].gain)) },
      .value(
        "\(name)/mute", path.appending(key: "mute"), types: "T",
        "whether bus \(index + 1) is silent"
      ) { .bool($0.buses[index].mute) },
      delay(name, path, "bus \(index + 1)") { $0.buses[index].delay },
    ]
      + chain(name, path, engine.document.buses[index].chain.count, engine) {
        $0.buses[index].chain
      }
  }

  /// The delay of a track, a bus or a send.
  private static func delay(
    _ name: String, _ path: SessionPath, _ owner: String,
    _ delay: @escaping @Sendable (SessionDocument) -> Double
  ) -> RemoteControl {
    .value(
      "\(name)/delay", path.appending(key: "delay"), types: "f", range: SessionShape.delays,
      unit: "ms", "the delay of \(owner)"
    ) { .float(Float(delay($0))) }
  }

  private static func send(_ index: Int) -> [RemoteControl] {
    let name = "sends/\(index + 1)"
    let path = SessionPath([.key("sends"), .index(index)])
    return [
      .reading("\(name)/name", types: "s", "the name of send \(index + 1)") { _, engine in
        [.string(engine.document.sends[index].name)]
      },
      .reading(
        "\(name)/state", types: "s", "whether send \(index + 1) sends, starts, waits or has failed"
      ) { session, _ in session.senders.map { [.string($0[index].state.words)] } },
      delay(name, path, "send \(index + 1)") { $0.sends[index].delay },
    ]
  }

  /// The plugins of a track or a bus: bypass, controls and parameters.
  private static func chain(
    _ name: String, _ owner: SessionPath, _ count: Int, _ engine: SessionEngine,
    _ chain: @escaping @Sendable (SessionDocument) -> [SessionPlugin]
  ) -> [RemoteControl] {
    (0..<count).flatMap { index -> [RemoteControl] in
      let path = owner.appending(key: "chain").appending(index: index)
      guard let plugin = engine.session.instances(at: path).first?.plugin else { return [] }
      let bypass = RemoteControl.value(
        "\(name)/bypass/\(index + 1)", path.appending(key: "bypass"), types: "T",
        "whether \(plugin.description.name) is bypassed"
      ) { chain($0)[index].bypass ? .bool(true) : .bool(false) }
      let id = RemoteControl.reading(
        "\(name)/id/\(index + 1)", types: "s", "the id of plugin \(index + 1)"
      ) {
        _, engine in [.string(chain(engine.document)[index].id)]
      }
      let parameters = path.appending(key: "parameters")
      return [id, bypass]
        + controls(of: plugin, at: path, "\(name)/plugins/\(index + 1)", parameters, engine)
    }
  }

  private static func controls(
    of plugin: any HostedPlugin, at path: SessionPath, _ name: String, _ target: SessionPath,
    _ engine: SessionEngine
  ) -> [RemoteControl] {
    PluginValue.all(of: plugin, under: name, sampleRate: engine.plan.timeline.sampleRate).map {
      value in
      let target = target.appending(name: value.name)
      return parameter(value.node, target) { _, engine in
        let given = try? engine.document.value(at: target).double
        let plugin = engine.session.instances(at: path).first?.plugin
        return value.present(in: plugin, given: given).map { [.float($0)] }
      }
    }
  }

  // MARK: Recordings and groups

  private static func recording(_ index: Int) -> [RemoteControl] {
    let name = "recordings/\(index + 1)"
    return [
      .reading("\(name)/name", types: "s", "the name of recording \(index + 1)") { _, engine in
        [.string(engine.document.recordings[index].name)]
      },
      RemoteControl(
        node: RemoteNode(
          "\(name)/armed", .parameter, types: "T",
          summary: "whether recording \(index + 1) starts with the session"),
        read: { _, engine in [.bool(engine.document.recordings[index].armed)] },
        act: .now { session, values throws(SessionRunError) in
          try session.setArmed([index], values.first == .bool(true))
        }),
      .reading("\(name)/failure", types: "s", "why the last take of recording \(index + 1) failed")
      {
        _, engine in
        [.string(engine.failure(ofRecording: engine.document.recordings[index].name) ?? "")]
      },
    ]
  }

  /// A start group, whose number is the engine's too: its group 0 has the tracks that are in none.
  private static func group(_ index: Int, _ group: SessionGroup) -> [RemoteControl] {
    let name = "groups/\(index + 1)"
    let number = index + 1
    func act(_ body: @escaping @Sendable (SessionEngine, Double) throws(SessionRunError) -> Void)
      -> Action
    {
      return { session, values throws(SessionRunError) in
        try body(try session.running(), values.first?.number ?? 0)
      }
    }
    var controls: [RemoteControl] = [
      .reading("\(name)/name", types: "s", "the name of group \(number)") { _, engine in
        [.string(engine.document.groups[index].name)]
      },
      .action(
        "\(name)/start", "start group \(number), or let it go on",
        act { engine, _ throws(SessionRunError) in try engine.start([number]) }),
      .action(
        "\(name)/stop", "stop group \(number)",
        act { engine, _ throws(SessionRunError) in try engine.stop([number]) }),
      .action(
        "\(name)/pause", "pause group \(number)",
        act { engine, _ throws(SessionRunError) in try engine.pause([number]) }),
      .action(
        "\(name)/locate", types: "d", range: 0...1e9, unit: "s",
        "move group \(number) to a position",
        act { engine, seconds throws(SessionRunError) in
          let frames = (seconds * engine.plan.timeline.sampleRate).rounded()
          try engine.locate([number], to: Int64(frames))
        }),
      .reading("\(name)/motion", types: "s", "stopped, waiting, playing or paused") {
        _, engine in [.string(engine.motionWord(ofGroup: number))]
      },
      .reading(
        "\(name)/position", .meter, types: "d", unit: "s", "the position of group \(number)"
      ) { _, engine in
        [.double(engine.plan.timeline.seconds(of: engine.position(ofGroup: number)))]
      },
    ]
    if case .osc(let address) = group.trigger {
      controls.append(
        RemoteControl(
          node: RemoteNode(
            address: address, .action, types: "", lowest: nil, highest: nil, unit: nil,
            summary: "start the group \(group.name)"),
          read: { _, _ in nil },
          act: .now { session, _ throws(SessionRunError) in
            let engine = try session.running()
            try engine.start(engine.groups(triggeredBy: address))
          }))
    }
    return controls
  }
}
