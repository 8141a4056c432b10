import AVFoundation
import TestSupport
import Testing

/// Lets the units of this process find the library's plugins and Debian's. Call it before a unit is made.
func findPlugins() throws {
  _ = try found.get()
}

private let found = Result {
  let path = try require(pluginEnvironment()["LV2_PATH"])
  setenv("LV2_PATH", path, 1)
}

extension OfflineEngine {
  /// A player before a unit, which is connected to the main mixer.
  func player(
    before unit: AVAudioUnit, _ format: AVAudioFormat = .standard(), to output: AVAudioFormat? = nil
  ) -> AVAudioPlayerNode {
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.attach(unit)
    engine.connect(player, to: unit, format: format)
    engine.connect(unit, to: engine.mainMixerNode, format: output)
    return player
  }

  /// What a unit makes of sound.
  func render(
    _ sound: [[Float]], through unit: AVAudioUnit, _ frames: Int, rate: Double = 48000
  ) throws -> [[Float]] {
    let format = AVAudioFormat.standard(rate, AVAudioChannelCount(sound.count))
    let player = player(before: unit, format)
    player.scheduleBuffer(AVAudioPCMBuffer(sound, format))
    player.play()
    return try render(frames)
  }
}

extension AudioComponentDescription {
  /// A description of four characters each.
  init(_ type: String, _ subtype: String, _ manufacturer: String = "appl") {
    func code(_ text: String) -> UInt32 { text.utf8.reduce(0) { $0 << 8 | UInt32($1) } }
    self.init(
      componentType: code(type), componentSubType: code(subtype),
      componentManufacturer: code(manufacturer), componentFlags: 0, componentFlagsMask: 0)
  }
}

/// The component of a plugin.
func plugin(named name: String) throws -> AudioComponentDescription {
  try findPlugins()
  let found = AVAudioUnitComponentManager.shared().components { component, _ in
    component.name == name
      && component.audioComponentDescription.componentManufacturer
        == AudioComponentDescription("", "", "LV2 ").componentManufacturer
  }
  return try require(found.first, "\(name)").audioComponentDescription
}

/// Level in dB at a frequency.
func level(_ samples: some Collection<Float>, at hertz: Double, rate: Double = 48000) -> Double {
  var (real, imaginary) = (0.0, 0.0)
  for (i, sample) in samples.enumerated() {
    let angle = 2 * .pi * hertz * Double(i) / rate
    real += Double(sample) * cos(angle)
    imaginary -= Double(sample) * sin(angle)
  }
  return 10 * log10(real * real + imaginary * imaginary + 1e-30)
}

/// The frequency of a tone in Hz, by its upward crossings of 0.
func frequency(of samples: some Collection<Float>, rate: Double = 48000) -> Double {
  var crossings: [Double] = []
  var last: Float = 0
  for (i, sample) in samples.enumerated() {
    if i > 0, last < 0, sample >= 0 {
      crossings.append(Double(i - 1) + Double(last / (last - sample)))
    }
    last = sample
  }
  guard let first = crossings.first, let end = crossings.last, crossings.count > 1 else { return 0 }
  return Double(crossings.count - 1) * rate / (end - first)
}

/// The largest change of the slope between neighbours: a click has a large one.
func roughness(_ samples: some Collection<Float>) -> Float {
  let list = Array(samples)
  return (2..<list.count).map { abs(list[$0] - 2 * list[$0 - 1] + list[$0 - 2]) }.max() ?? 0
}
