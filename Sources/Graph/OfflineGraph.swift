import CRealTime
import RealTime
import Server

/// A driver that runs a graph by hand, faster than real time. Interleaved samples enter one of its
/// sources, and the signal of its output ports is returned. One thread.
///
/// If some nodes report their latency only when they run, cycles of silence precede the samples. The
/// transport is stopped during them and rolls from the first sample, at 120 beats per minute in 4/4.
@safe
package final class OfflineGraph {
  private let graph: Graph
  private let inputs: [ClientPort]
  private let outputs: [UnsafeMutablePointer<Float>]
  /// Frames of all cycles so far: the device frame of the next one.
  package private(set) var frame: Int64 = 0
  private var transport: cue_transport
  /// Frames of one cycle.
  private static var cycleFrames: Int { 1024 }

  /// Channels of the output.
  package var channels: Int { unsafe outputs.count }

  /// - Parameter source: The source that the samples enter.
  /// - Throws: `HostError.unknownNode`.
  package init(_ graph: Graph, source: NodeID) throws(HostError) {
    self.graph = graph
    inputs = try graph.inputPorts(of: source)
    transport = Self.transport(at: 0, graph.sampleRate, isRolling: false)
    let ports = graph.wantedPorts.filter { $0.direction == .output && !$0.isMIDI }
    unsafe outputs = unsafe ports.map { _ in
      let plane = UnsafeMutablePointer<Float>.allocate(capacity: Self.cycleFrames)
      unsafe plane.initialize(repeating: 0, count: Self.cycleFrames)
      return unsafe plane
    }
    for (i, port) in ports.enumerated() {
      port.give(unsafe ClientPort(cue_port(port: nil, memory: outputs[i], connections: nil)))
    }
    unsafe graph.cycle.pointee.setFreewheeling(true)
    graph.begin()
    // Most graphs need one cycle. This many fill the longest delay that latency compensation supports.
    for _ in 0..<(graph.reportsLatency ? 1000 : 0) {
      _ = run([], silence: Self.cycleFrames)
      if graph.isSettled { break }
    }
    transport.is_rolling = true
  }

  /// Returns the transport position after `frame` frames.
  private static func transport(at frame: Int64, _ sampleRate: Double, isRolling: Bool)
    -> cue_transport
  {
    var transport = cue_transport()
    transport.frame = frame
    transport.frames_per_second = sampleRate
    transport.is_rolling = isRolling
    transport.has_beats = true
    transport.beat_unit = 4
    transport.beats_per_bar = 4
    transport.beats_per_minute = 120
    let beats = Double(frame) * 2 / sampleRate
    transport.bar = Int64(beats / 4)
    transport.bar_beat = beats - 4 * Double(transport.bar)
    return transport
  }

  deinit {
    graph.halt()
    unsafe outputs.forEach { unsafe $0.deallocate() }
  }

  /// Runs the frames of `samples`, interleaved with the source's channel count, followed by `frames`
  /// frames of silence.
  ///
  /// - Returns: The same number of frames, interleaved with `channels` channels.
  package func run(_ samples: ArraySlice<Float>, silence frames: Int = 0) -> [Float] {
    let mode = cue_rt_float_mode()
    cue_rt_flush_denormals()
    defer { cue_rt_set_float_mode(mode) }
    let given = samples.count / inputs.count
    let total = given + frames
    var result = [Float](repeating: 0, count: total * channels)
    var done = 0
    while done < total {
      let count = min(Self.cycleFrames, total - done)
      let heard = max(0, min(count, given - done))
      for (channel, port) in inputs.enumerated() {
        guard let plane = unsafe port.handle.memory else { continue }
        unsafe samples.withUnsafeBufferPointer { samples in
          guard let first = samples.baseAddress else { return }
          let source = unsafe first + (done * inputs.count + channel)
          for i in 0..<heard { unsafe plane[i] = unsafe source[i * inputs.count] }
        }
        unsafe (plane + heard).update(repeating: 0, count: count - heard)
      }
      _ = unsafe graph.cycle.pointee.cycle(frames: count, at: frame, transport: transport)
      if transport.is_rolling {
        transport = Self.transport(
          at: transport.frame + Int64(count), transport.frames_per_second, isRolling: true)
      }
      _ = graph.service()
      unsafe result.withUnsafeMutableBufferPointer { result in
        guard let first = result.baseAddress else { return }
        for channel in 0..<channels {
          let (plane, target) = unsafe (outputs[channel], first + (done * channels + channel))
          for i in 0..<count { unsafe target[i * channels] = unsafe plane[i] }
        }
      }
      done += count
      frame += Int64(count)
    }
    return result
  }
}
