import AVFAudio
import AudioToolbox
import CRealTime
import Foundation
import Graph
import Hardware
import PluginHost
import Server
import Synchronization

// Runs a graph with a render callback, an I/O function and an engine for two seconds each on a JACK server:
// `render-callback SERVER`. With
// a second argument `allocates`, the callback allocates, which is forbidden. `rtsan` calls this
// program.

/// The context of the render callback.
final class Source: Sendable {
  let frames = Atomic<Int>(0)
  let allocates: Bool

  init(allocates: Bool) { self.allocates = allocates }

  var node: CallbackNode {
    CallbackNode(
      named: "source", outputs: 1,
      cue_node(
        run: { context, block in
          Unmanaged<Source>.fromOpaque(context)._withUnsafeGuaranteedRef { source in
            let frames = Int(block.pointee.frames)
            for i in 0..<frames { block.pointee.outputs![0][i] = 0.25 }
            if source.allocates { free(malloc(frames)) }
            source.frames.add(frames, ordering: .relaxed)
          }
        }, context: Unmanaged.passUnretained(self).toOpaque(), prefetched_bytes: 0), keeping: self)
  }
}

extension Source {
  /// Adds a constant to what comes in.
  var function: IOFunction {
    IOFunction(
      cue_io_function(
        run: { context, io in
          Unmanaged<Source>.fromOpaque(context)._withUnsafeGuaranteedRef { source in
            guard let input = io.pointee.input, let output = io.pointee.output else { return }
            let samples = 2 * Int(io.pointee.frames)
            for i in 0..<samples { output[i] = input[i] + 0.25 }
            source.frames.add(samples / 2, ordering: .relaxed)
          }
        }, context: Unmanaged.passUnretained(self).toOpaque()), keeping: self)
  }
}

let arguments = CommandLine.arguments
guard arguments.count >= 2 else {
  print("usage: render-callback SERVER [allocates]")
  exit(64)
}
let source = Source(allocates: arguments.dropFirst(2).first == "allocates")
let device = try Device(JackServer(named: arguments[1]), clientName: "callback")
let rate = device.client.sampleRate
let graph = Graph(sampleRate: rate, blockFrames: 256)
let callback = try graph.add(source.node)
let output = try graph.addOutputs(named: "out", audio: ["out"])
try graph.connect(callback, to: output)
try graph.run(on: device)
while source.frames.load(ordering: .relaxed) < 2 * Int(rate) { usleep(1000) }
graph.stop()
device.close()

// Calls of another length than the server's cycles.
let function = source.function
let hardware = HardwareDevice(
  JackServer(named: arguments[1]), named: arguments[1], clientName: "io")
hardware.add(function)
_ = try hardware.setBufferFrames(480, askingServer: false)
try hardware.start(function)
source.frames.store(0, ordering: .relaxed)
while source.frames.load(ordering: .relaxed) < 2 * Int(rate) { usleep(1000) }
hardware.remove(function)
hardware.closeIfUnused()

// Nodes of an engine, with functions of the app: a source, a player behind effects, and a tap.
let engine = AVAudioEngine(jackServerName: arguments[1], jackClientName: "engine")
let player = AVAudioPlayerNode()
let format = engine.outputNode.inputFormat(forBus: 0)
let sound = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: AVAudioFrameCount(rate))!
sound.frameLength = sound.frameCapacity
source.frames.store(0, ordering: .relaxed)
let node = AVAudioSourceNode { [source] _, _, frames, list in
  for buffer in UnsafeMutableAudioBufferListPointer(list) {
    for i in 0..<Int(frames) { buffer.mData!.assumingMemoryBound(to: Float.self)[i] = 0.25 }
  }
  source.frames.add(Int(frames), ordering: .relaxed)
  return noErr
}
let chain = [
  player, AVAudioUnitEQ(numberOfBands: 2), AVAudioUnitTimePitch(), AVAudioUnitVarispeed(),
]
for node in chain + [node] { engine.attach(node) }
for (from, to) in zip(chain, chain.dropFirst() + [engine.mainMixerNode]) {
  engine.connect(from, to: to, format: format)
}
engine.connect(node, to: engine.mainMixerNode, format: format)
engine.mainMixerNode.installTap(onBus: 0, bufferSize: 4800, format: nil) { _, _ in }
try engine.start()
player.scheduleBuffer(sound, at: nil, options: .loops)
player.play()
while source.frames.load(ordering: .relaxed) < 2 * Int(rate) {
  usleep(1000)
  player.volume = Float(source.frames.load(ordering: .relaxed) % 3) / 2
}
engine.stop()
