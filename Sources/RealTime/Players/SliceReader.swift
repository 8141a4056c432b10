package import CRealTime

/// Scratch memory of a player: a list and planes that point into samples. Owns no memory.
@safe
package struct SliceReader: BitwiseCopyable {
  private let list: UnsafeMutablePointer<cue_buffer_list>
  private let planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>

  /// - Parameters:
  ///   - list: Room for as many buffers as the samples have.
  ///   - planes: Room for as many planes.
  package init(
    _ list: UnsafeMutablePointer<cue_buffer_list>,
    _ planes: UnsafeMutablePointer<UnsafeMutablePointer<Float>>
  ) {
    unsafe self.list = list
    unsafe self.planes = planes
  }

  /// Converts frames of samples into the planes of an output. Samples with more channels than the output
  /// has leave it as it is: the unit's format has changed since they came.
  ///
  /// - Parameters:
  ///   - first: The first frame of the samples.
  ///   - frame: The first frame of the output.
  @_noLocks func copy(
    _ samples: UnsafeMutablePointer<cue_buffer_list>, _ format: BusFormat, from first: Int,
    to output: UnitBus, at frame: Int, frames: Int
  ) {
    if format.channels > output.channels { return }
    let source = unsafe cue_rt_buffers(samples)
    let buffers = unsafe cue_rt_buffers(list)
    let count = unsafe min(Int(samples.pointee.count), format.buffers)
    let skipped = first &* format.bytesPerFrame
    unsafe list.pointee.count = UInt32(count)
    for i in 0..<count {
      unsafe buffers[i].channels = source[i].channels
      let bytes = unsafe Int(source[i].bytes) &- skipped
      unsafe buffers[i].bytes = UInt32(max(0, bytes))
      if let data = unsafe source[i].data, bytes > 0 {
        unsafe buffers[i].data = unsafe data + skipped
      } else {
        unsafe buffers[i].data = nil
      }
    }
    for channel in 0..<output.channels {
      unsafe planes[channel] = unsafe output.planes[channel] + frame
    }
    unsafe format.read(list, frames: frames, to: planes)
  }
}
