// Plays a sound file through effects: audio units and LV2 plugins, one behind the other.
//
// Usage: engine-player FILE [EFFECT ...]
//        engine-player --effects
//
// The second form prints the names of the effects. An effect is named by a part of its name:
//   engine-player song.flac "Calf Reverb" AUDelay
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it.

import AVFoundation

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("engine-player: \(text)\n".utf8))
  exit(code)
}

let effects = AVAudioUnitComponentManager.shared().components(
  matching: AudioComponentDescription(
    componentType: kAudioUnitType_Effect, componentSubType: 0, componentManufacturer: 0,
    componentFlags: 0, componentFlagsMask: 0))
let arguments = Array(CommandLine.arguments.dropFirst())
if arguments == ["--effects"] {
  for effect in effects { print("\(effect.manufacturerName): \(effect.name)") }
  exit(0)
}
guard let path = arguments.first else { fail("usage: engine-player FILE [EFFECT ...]", code: 64) }

do {
  let file = try AVAudioFile(forReading: URL(fileURLWithPath: path))
  let engine = AVAudioEngine()
  let player = AVAudioPlayerNode()
  engine.attach(player)
  var last: AVAudioNode = player
  for name in arguments.dropFirst() {
    guard let effect = effects.first(where: { $0.name.contains(name) }) else {
      fail("there is no effect “\(name)”")
    }
    let unit = try await AVAudioUnit.instantiate(with: effect.audioComponentDescription)
    engine.attach(unit)
    engine.connect(last, to: unit, format: file.processingFormat)
    last = unit
  }
  engine.connect(last, to: engine.mainMixerNode, format: file.processingFormat)
  try engine.start()
  let over = DispatchSemaphore(value: 0)
  player.scheduleFile(file, at: nil, completionCallbackType: .dataPlayedBack) { _ in over.signal() }
  player.play()
  let seconds = Double(file.length) / file.processingFormat.sampleRate
  if over.wait(timeout: .now() + seconds + 30) == .timedOut { fail("the server stands still") }
  engine.stop()
} catch {
  fail(error.localizedDescription)
}
