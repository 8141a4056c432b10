import ArgumentParser
import Graph
import PluginHost

/// Options for the MIDI connections of `cuejack play`, and for the controllers that control
/// plugins.
struct ControllerOptions: ParsableArguments {
  @Option(
    name: .customLong("midi-in"),
    help: ArgumentHelp(
      "MIDI port that sends notes and controllers to the plugins. Repeatable.",
      discussion: """
        A port, a client, a glob or a regular expression, as for --connect. The command connects it to the \
        client's port midi_in. The client has this port if a plugin \
        receives MIDI, or with --map or --learn. MIDI from the port reaches every plugin that receives \
        MIDI. A plugin that outputs MIDI feeds the next one instead.
        """,
      valueName: "port"),
    completion: .midiPorts(sending: true))
  var inputs: [String] = []

  @Option(
    name: .customLong("midi-out"),
    help: ArgumentHelp(
      "MIDI port that receives the plugins' MIDI output. Repeatable.",
      discussion: """
        The command connects it to the client's port midi_out. The client has this port if a plugin \
        outputs MIDI and no plugin after it receives MIDI.
        """,
      valueName: "port"),
    completion: .midiPorts(sending: false))
  var outputs: [String] = []

  @Option(
    help: ArgumentHelp(
      "Bind a MIDI controller to a plugin's control. Repeatable.",
      discussion: """
        cc7=1:gain binds controller 7 to the control gain of the first --plugin, over its whole range. \
        cc7@2=1:gain binds it on channel 2 only, and cc7=1:gain:-20..6 limits the range to -20...6. For a \
        parameter, give its URI, or the part after the #, instead of a symbol. `cuejack plugins info` \
        lists both.
        """,
      valueName: "controller=plugin:symbol[:low..high]"),
    completion: .controllerMaps, transform: ControllerMap.init)
  var map: [ControllerMap] = []

  @Option(
    help: ArgumentHelp(
      "Bind the next MIDI controller that moves to this control. Repeatable, in order.",
      discussion: "The command prints the controller in the form of --map.",
      valueName: "plugin:symbol[:low..high]"),
    completion: .controls, transform: ControllerTarget.init)
  var learn: [ControllerTarget] = []

  /// Validates the options as far as possible without a server.
  ///
  /// - Parameters:
  ///   - plugins: Number of plugins.
  ///   - playsMIDI: Whether a MIDI file moves controllers.
  func check(plugins: Int, isRendering: Bool, playsMIDI: Bool = false) throws {
    let given = [
      ("--midi-in", !inputs.isEmpty), ("--midi-out", !outputs.isEmpty), ("--map", !map.isEmpty),
      ("--learn", !learn.isEmpty),
    ]
    for (option, isGiven) in given where isGiven {
      try Command.check(
        !isRendering || playsMIDI && option == "--map",
        "--render needs no server: \(option) makes no sense with it")
      try Command.check(plugins > 0, "\(option) is for --plugin")
    }
    for (option, target) in map.map({ ("--map", $0.target) }) + learn.map({ ("--learn", $0) }) {
      try Command.check(
        (1...plugins).contains(target.plugin),
        "\(option): there is no plugin \(target.plugin); they count from 1 to \(plugins)")
    }
  }

  var hearsControllers: Bool { !map.isEmpty || !learn.isEmpty }
}

/// A control of a plugin, as given to `--learn`.
struct ControllerTarget: Sendable, CustomStringConvertible {
  /// Position of the plugin among the --plugin options, starting at 1.
  let plugin: Int
  let target: MIDITarget

  init(_ text: String) throws {
    let number = #"-?[0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?"#
    let form = try Regex(
      "([0-9]{1,9}):(.+?)(?::(\(number))\\.\\.(\(number)))?",
      as: (Substring, Substring, Substring, Substring?, Substring?).self)
    guard let parts = text.wholeMatch(of: form)?.output, let plugin = Int(parts.1) else {
      throw ValidationError(
        "“\(text)” is no PLUGIN:SYMBOL or PLUGIN:SYMBOL:LOW..HIGH, where PLUGIN counts from 1")
    }
    self.plugin = plugin
    target = MIDITarget(
      String(parts.2), low: parts.3.flatMap { Float($0) }, high: parts.4.flatMap { Float($0) })
  }

  var description: String { "\(plugin):\(target)" }
}

extension PluginChain {
  /// Binds the controllers of `--map`.
  func bind(_ maps: [ControllerMap]) throws(HostError) {
    for map in maps { try bind(map.binding, ofPlugin: map.target.plugin - 1) }
  }
}

extension PluginClient {
  /// Binds the controllers of `--map`, and then learns those of `--learn`.
  func follow(_ options: ControllerOptions) throws(HostError) {
    try chain.bind(options.map)
    for target in options.learn {
      for plugin in chain.stages[target.plugin - 1] { try plugin.check(target.target) }
    }
    Self.learn(options.learn[...], in: chain)
  }

  /// Learns one controller after another, and reports each.
  ///
  /// - Parameter last: The controller learned last, which may still be moving.
  private static func learn(
    _ targets: ArraySlice<ControllerTarget>, after last: MIDIController? = nil,
    in chain: PluginChain
  ) {
    guard let next = targets.first else { return }
    let isLearning: Void? = try? chain.learn(
      next.target, ofPlugin: next.plugin - 1, passing: last
    ) { binding in
      Screen.shared.say("learned: --map \(binding.controller)=\(next)")
      learn(targets.dropFirst(), after: binding.controller, in: chain)
    }
    // The target was validated before, but its plugin may have been removed.
    if isLearning == nil {
      Screen.shared.remark("--learn \(next): the plugin was removed")
      return learn(targets.dropFirst(), after: last, in: chain)
    }
    Screen.shared.say("move a controller for \(next)")
  }
}
