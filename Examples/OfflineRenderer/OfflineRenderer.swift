// Mixes sound files into a WAV file, faster than they play and without a server.
//
// Usage: offline-renderer OUTPUT FILE[@GAIN] ...
//
// To build it on its own, give a package's executable target the product AudioToolbox of the package
// Cuejack, and copy this file into it: offline-renderer mix.wav song.flac@0.8 voice.m4a
//
// All files begin at frame 0. The mix has the rate of the first file and two channels, and ends with the longest file.

import AVFoundation

func fail(_ text: String, code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("offline-renderer: \(text)\n".utf8))
  exit(code)
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 2 else { fail("usage: offline-renderer OUTPUT FILE[@GAIN] ...", code: 64) }
let inputs = arguments.dropFirst().map { word -> (path: String, gain: Float) in
  if let at = word.lastIndex(of: "@"), let gain = Float(word[word.index(after: at)...]) {
    return (String(word[..<at]), gain)
  }
  return (word, 1)
}

do {
  let files = try inputs.map { try AVAudioFile(forReading: URL(fileURLWithPath: $0.path)) }
  let rate = files[0].processingFormat.sampleRate
  let format = AVAudioFormat(standardFormatWithSampleRate: rate, channels: 2)!
  let engine = AVAudioEngine()
  try engine.enableManualRenderingMode(.offline, format: format, maximumFrameCount: 4096)
  var players: [AVAudioPlayerNode] = []
  var length: AVAudioFramePosition = 0
  for (file, input) in zip(files, inputs) {
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: file.processingFormat)
    player.volume = input.gain
    player.scheduleFile(file, at: nil)
    players.append(player)
    let frames = Double(file.length) * rate / file.processingFormat.sampleRate
    length = max(length, AVAudioFramePosition(frames.rounded()))
  }
  try engine.start()
  for player in players { player.play() }
  let output = try AVAudioFile(
    forWriting: URL(fileURLWithPath: arguments[0]),
    settings: [
      AVFormatIDKey: kAudioFormatLinearPCM, AVSampleRateKey: rate, AVNumberOfChannelsKey: 2,
      AVLinearPCMBitDepthKey: 32, AVLinearPCMIsFloatKey: true,
    ])
  let buffer = AVAudioPCMBuffer(
    pcmFormat: engine.manualRenderingFormat,
    frameCapacity: engine.manualRenderingMaximumFrameCount)!
  while engine.manualRenderingSampleTime < length {
    let left = length - engine.manualRenderingSampleTime
    switch try engine.renderOffline(
      AVAudioFrameCount(min(left, AVAudioFramePosition(buffer.frameCapacity))), to: buffer)
    {
    case .success: try output.write(from: buffer)
    case .insufficientDataFromInputNode, .cannotDoInCurrentContext: continue
    case .error: fail("the engine cannot render")
    @unknown default: fail("the engine cannot render")
    }
  }
  engine.stop()
  output.close()
  print("\(length) frames")
} catch {
  fail(error.localizedDescription)
}
