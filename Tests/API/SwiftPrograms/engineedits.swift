// Edits an engine from two threads while it plays. One source plays 0.25 all the time; what the edits connect is
// silent, so that a click or a gap shows in what is heard.
//
// Usage: engineedits EDITS SEED

import AVFoundation
import Synchronization

func fail(_ text: String) -> Never {
  FileHandle.standardError.write(Data("engineedits: \(text)\n".utf8))
  exit(1)
}

/// Numbers that a seed determines.
struct Dice: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}

let format = AVAudioFormat(standardFormatWithSampleRate: 48000, channels: 2)!

func silence() -> AVAudioPCMBuffer {
  let buffer = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: 480)!
  buffer.frameLength = 480
  return buffer
}

/// The nodes that one thread edits: players and mixers, which end in the main mixer.
final class Hands: @unchecked Sendable {
  private let engine: AVAudioEngine
  private var players: [AVAudioPlayerNode] = []
  private var mixers: [AVAudioMixerNode] = []
  private var dice: Dice
  let heard = Mutex(0)
  let taps = Mutex(0)

  init(_ engine: AVAudioEngine, seed: UInt64) {
    self.engine = engine
    dice = Dice(state: seed)
    for _ in 0..<4 {
      players.append(AVAudioPlayerNode())
      mixers.append(AVAudioMixerNode())
    }
  }

  private func attached<Node: AVAudioNode>(_ nodes: [Node]) -> Node? {
    nodes.filter { $0.engine != nil }.randomElement(using: &dice)
  }

  func edit() {
    switch Int.random(in: 0..<12, using: &dice) {
    case 0, 1:
      let node = (players + mixers as [AVAudioNode]).randomElement(using: &dice)!
      if node.engine == nil { engine.attach(node) } else { engine.detach(node) }
    case 2, 3:
      guard let player = attached(players) else { return }
      engine.connect(player, to: attached(mixers) ?? engine.mainMixerNode, format: format)
    case 4:
      guard let mixer = attached(mixers) else { return }
      engine.connect(mixer, to: engine.mainMixerNode, format: format)
    case 5:
      guard let mixer = attached(mixers) else { return }
      engine.disconnectNodeInput(mixer)
    case 6:
      guard let player = attached(players) else { return }
      engine.disconnectNodeOutput(player)
    case 7, 8:
      guard let player = attached(players) else { return }
      let options: [AVAudioPlayerNodeBufferOptions] = [[], .loops, .interrupts, .interruptsAtLoop]
      player.scheduleBuffer(silence(), at: nil, options: options.randomElement(using: &dice)!) {
        [self] in heard.withLock { $0 += 1 }
      }
      player.play()
    case 9:
      guard let player = attached(players) else { return }
      if Bool.random(using: &dice) { player.stop() } else { player.pause() }
    case 10:
      guard let node = attached(mixers) else { return }
      node.removeTap(onBus: 0)
      node.installTap(onBus: 0, bufferSize: 512, format: nil) { [self] _, _ in
        taps.withLock { $0 += 1 }
      }
    default:
      guard let player = attached(players) else { return }
      player.volume = Float.random(in: 0...1, using: &dice)
      player.pan = Float.random(in: -1...1, using: &dice)
    }
  }
}

guard CommandLine.arguments.count == 3, let edits = Int(CommandLine.arguments[1]),
  let seed = UInt64(CommandLine.arguments[2])
else { fail("usage: engineedits EDITS SEED") }

let engine = AVAudioEngine()
let source = AVAudioSourceNode(format: format) { _, _, frames, list in
  for buffer in UnsafeMutableAudioBufferListPointer(list) {
    let samples = buffer.mData!.assumingMemoryBound(to: Float.self)
    for frame in 0..<Int(frames) { samples[frame] = 0.25 }
  }
  return noErr
}
engine.attach(source)
engine.connect(source, to: engine.mainMixerNode, format: format)
do { try engine.start() } catch { fail(error.localizedDescription) }
let hands = [Hands(engine, seed: seed), Hands(engine, seed: seed + 1)]
let group = DispatchGroup()
for hand in hands {
  DispatchQueue.global().async(group: group) {
    for _ in 0..<edits / 2 { hand.edit() }
  }
}
group.wait()
engine.stop()
print("\(edits) edits")
