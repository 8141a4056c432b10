import AVFAudio
import AudioToolbox
import AudioUnits
import PluginHost
import TestSupport

/// Plugins as effects of an AVAudioEngine between its input and its output, on a server: in a row, or side by side.
final class EngineMix {
  private let engine: AVAudioEngine

  init(
    _ plugins: [ChainPlugin], isMix: Bool, channels: Int, on server: String, named name: String
  ) throws {
    engine = AVAudioEngine(jackServerName: server, jackClientName: name)
    let rate = engine.outputNode.outputFormat(forBus: 0).sampleRate
    guard
      let format = AVAudioFormat(
        standardFormatWithSampleRate: rate, channels: AVAudioChannelCount(channels))
    else { throw SupportError("no format of \(channels) channels at \(rate) Hz") }
    let world = World()
    let effects = try plugins.map { try Self.effect($0, in: world) }
    for effect in effects { engine.attach(effect) }
    let (input, mixer) = (engine.inputNode, engine.mainMixerNode)
    if isMix {
      let points = effects.map { AVAudioConnectionPoint(node: $0, bus: 0) }
      engine.connect(input, to: points, fromBus: 0, format: format)
      for effect in effects { engine.connect(effect, to: mixer, format: format) }
    } else {
      var last: AVAudioNode = input
      for effect in effects {
        engine.connect(last, to: effect, format: format)
        last = effect
      }
      engine.connect(last, to: mixer, format: format)
    }
    try engine.start()
  }

  deinit { engine.stop() }

  private static func effect(_ plugin: ChainPlugin, in world: World) throws -> AVAudioUnitEffect {
    let description = try world.description(of: plugin.uri)
    let manager = AVAudioUnitComponentManager.shared()
    guard
      let component = manager.components(passingTest: { component, _ in
        component.name == description.name
      }).first
    else { throw SupportError("there is no component “\(description.name)”") }
    let effect = AVAudioUnitEffect(
      audioComponentDescription: component.audioComponentDescription)
    for port in description.ports {
      guard let value = plugin.values[port.symbol],
        let parameter = effect.parameter(named: port.name)
      else { continue }
      AudioUnitSetParameter(effect.audioUnit, parameter, kAudioUnitScope_Global, 0, value, 0)
    }
    return effect
  }
}

extension AVAudioUnitEffect {
  /// Returns the number of a parameter of a name; nil if there is none.
  fileprivate func parameter(named name: String) -> AudioUnitParameterID? {
    var size: UInt32 = 0
    var isWritable = DarwinBoolean(false)
    let list = kAudioUnitProperty_ParameterList
    AudioUnitGetPropertyInfo(audioUnit, list, kAudioUnitScope_Global, 0, &size, &isWritable)
    var numbers = [AudioUnitParameterID](repeating: 0, count: Int(size) / 4)
    AudioUnitGetProperty(audioUnit, list, kAudioUnitScope_Global, 0, &numbers, &size)
    return numbers.first { number in
      var info = AudioUnitParameterInfo()
      var size = UInt32(MemoryLayout<AudioUnitParameterInfo>.size)
      AudioUnitGetProperty(
        audioUnit, kAudioUnitProperty_ParameterInfo, kAudioUnitScope_Global, number, &info, &size)
      return withUnsafePointer(to: info.name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 52) { String(cString: $0) } == name
      }
    }
  }
}
