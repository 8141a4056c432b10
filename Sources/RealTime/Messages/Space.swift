/// Memory for the process thread to record into.
@safe
package struct Space: BitwiseCopyable {
  package let layout: SampleLayout
  /// Token of the event that hands the memory back.
  package let token: UInt32
  let frames: UInt32
  /// 0 if the frames are interleaved, else the distance between the channels' planes in frames.
  let planeFrames: UInt32
  let memory: UnsafeMutableRawPointer?

  /// Creates a space of `frames` frames. Nothing else may touch the memory until the event with
  /// `token` arrives.
  package init(
    _ memory: UnsafeMutableRawPointer, frames: Int, layout: SampleLayout, planeFrames: Int = 0,
    token: UInt32
  ) {
    self.layout = layout
    self.token = token
    self.frames = UInt32(frames)
    self.planeFrames = UInt32(planeFrames)
    unsafe self.memory = memory
  }

  /// Initial value of a ring's slots.
  package static var none: Space { Space() }

  private init() {
    layout = .float32(channels: 1)
    token = 0
    frames = 0
    planeFrames = 0
    unsafe memory = nil
  }
}
