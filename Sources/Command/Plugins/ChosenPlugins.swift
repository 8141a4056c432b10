import ArgumentParser
import Files
import Graph
import PluginHost

/// The plugins of `--plugin` options, found among the installed ones.
struct ChosenPlugins {
  let world: World
  let choices: [PluginChoice]
  /// The number of threads that run them.
  let threads: Int

  /// Finds the plugins. Prints an error and ends the command if one of them is not there.
  ///
  /// - Parameter soundFont: Path of the SoundFont of an instrument before them; nil for no instrument.
  init(_ options: [PluginOption], threads: ThreadOptions, soundFont: String? = nil) throws {
    let world = World.named
    self.world = world
    self.threads = threads.count
    do throws(HostError) {
      var choices: [PluginChoice] = []
      if let soundFont {
        do throws(SoundFontError) { _ = try SoundFontFile(path: soundFont) } catch {
          throw HostError.fileNotLoaded("\(error)")
        }
        var choice = try PluginChoice(SoundFontPlugin.uri, values: [:], in: world)
        choice.file = soundFont
        choices.append(choice)
      }
      for option in options { choices.append(try option.choice(in: world)) }
      self.choices = choices
    } catch {
      Screen.shared.complain(world.words(for: error))
      throw ExitCode.failure
    }
  }

  /// The channels that the chain needs, and how many of them come in from outside.
  ///
  /// An instrument at the beginning needs none from outside, nor do plugins of MIDI alone, whose chain has
  /// one silent channel.
  var width: (channels: Int, inputs: Int) {
    let sizes = choices.compactMap { try? world.description(of: $0.uri) }.map { plugin in
      (
        inputs: plugin.planes(.input).count { $0.kind == .audio },
        outputs: plugin.planes(.output).count { $0.kind == .audio }
      )
    }.filter { $0.inputs + $0.outputs > 0 }
    guard let first = sizes.first, first.inputs > 0 else { return (1, 0) }
    let widest = sizes.map(\.inputs).max() ?? 1
    return (widest, widest)
  }
}
