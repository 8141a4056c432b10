package import CRealTime

/// An audio unit as a node of a graph: it renders the graph's samples. Owns no memory.
@safe
package struct UnitNodeKernel: BitwiseCopyable {
  private let unit: UnsafeMutablePointer<RenderUnit>
  /// A list for each input bus, and one for the output, without memory of their own.
  private let inputs: UnsafeMutablePointer<UnsafeMutablePointer<cue_buffer_list>>
  private let inputCount: Int
  private let output: UnsafeMutablePointer<UnsafeMutablePointer<cue_buffer_list>>

  package init(
    _ unit: UnsafeMutablePointer<RenderUnit>,
    inputs: UnsafeMutablePointer<UnsafeMutablePointer<cue_buffer_list>>, inputCount: Int,
    output: UnsafeMutablePointer<UnsafeMutablePointer<cue_buffer_list>>
  ) {
    unsafe self.unit = unit
    unsafe self.inputs = inputs
    self.inputCount = inputCount
    unsafe self.output = output
  }

  @_noLocks func run(_ block: cue_block) {
    guard let sources = unsafe block.inputs, let targets = unsafe block.outputs else { return }
    let bytes = unsafe 4 &* block.frames
    var plane = 0
    for bus in 0..<inputCount {
      let buffers = unsafe cue_rt_buffers(inputs[bus])
      for i in 0..<(unsafe Int(inputs[bus].pointee.count)) {
        unsafe buffers[i].bytes = bytes
        unsafe buffers[i].data = UnsafeMutableRawPointer(mutating: sources[plane])
        plane &+= 1
      }
    }
    let buffers = unsafe cue_rt_buffers(output.pointee)
    let count = unsafe Int(output.pointee.pointee.count)
    for i in 0..<count {
      unsafe buffers[i].bytes = bytes
      unsafe buffers[i].data = UnsafeMutableRawPointer(targets[i])
    }
    var time = cue_time_stamp()
    time.sample_time = unsafe Double(block.frame)
    time.flags = UInt32(cue_time_has_sample)
    if unsafe block.host_time != 0 {
      time.host_time = unsafe block.host_time
      time.flags |= UInt32(cue_time_has_host)
    }
    unsafe cue_rt_set_thread_transport(block.transport)
    var flags: UInt32 = 0
    let status = unsafe unit.pointee.process(
      &flags, &time, frames: Int(block.frames), inputs, inputCount: inputCount, output,
      outputCount: 1)
    cue_rt_set_thread_transport(nil)
    if status == 0 && flags & UInt32(cue_render_is_silent) == 0 { return }
    // A unit that fails, or was disposed of, passes the sound on.
    for i in 0..<count {
      if status != 0 && i < plane {
        unsafe UnsafeMutableRawPointer(targets[i]).copyMemory(
          from: sources[i], byteCount: Int(bytes))
      } else {
        unsafe targets[i].update(repeating: 0, count: Int(block.frames))
      }
    }
  }
}

/// A node's function: `context` is a `UnitNodeKernel`.
@_noLocks package func runUnitNode(
  _ context: UnsafeMutableRawPointer, _ block: UnsafePointer<cue_block>
) {
  unsafe context.assumingMemoryBound(to: UnitNodeKernel.self).pointee.run(block.pointee)
}
