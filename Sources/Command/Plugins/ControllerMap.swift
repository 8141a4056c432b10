import ArgumentParser
import PluginHost

/// A controller and its target, as given to `--map`.
struct ControllerMap: Sendable {
  let controller: MIDIController
  let target: ControllerTarget

  init(_ text: String) throws {
    let sides = text.split(separator: "=", maxSplits: 1)
    guard sides.count == 2 else {
      throw ValidationError("“\(text)” is no CONTROLLER=PLUGIN:SYMBOL, such as cc7=1:gain")
    }
    guard let controller = MIDIController(String(sides[0])) else {
      throw ValidationError(
        "“\(sides[0])” is no MIDI controller: cc0 to cc119, or cc0@1 to cc119@16 for one channel")
    }
    self.controller = controller
    target = try ControllerTarget(String(sides[1]))
  }

  var binding: MIDIBinding { MIDIBinding(controller, to: target.target) }
}
