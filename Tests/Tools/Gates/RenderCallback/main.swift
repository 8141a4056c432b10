import CRealTime
import Foundation
import Graph
import PluginHost
import Server
import Synchronization

// Runs a graph with a render callback for two seconds on a JACK server: `render-callback SERVER`. With
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
