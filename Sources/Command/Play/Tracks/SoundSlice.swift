import Files
import RealTime
import Sessions

/// A part of a sound, at a gain. Any thread; reads block.
struct SoundSlice: SoundSource {
  let path: String
  private let sound: any SoundSource
  private let part: Range<Int64>
  /// Other gains than 1 need 32-bit floats.
  private let gain: Float
  private let level: SoundGain?
  /// True if the sound may be shorter than its file says.
  private let mayEndEarly: Bool

  init(
    _ sound: any SoundSource, _ part: Range<Int64>, gain: Float = 1, level: SoundGain? = nil
  ) {
    self.sound = sound
    self.part = part
    self.gain = gain
    self.level = level
    path = sound.path
    mayEndEarly = false
  }

  /// Creates the sound of a pipe, which ends where the pipe does: programs that write to a pipe do not know
  /// the length when they write the header.
  init(pipe sound: SoundReader) {
    self.sound = sound
    part = 0..<sound.frames
    gain = 1
    level = nil
    path = sound.path
    mayEndEarly = true
  }

  /// The file that the sound is a part of; nil for other sounds.
  var reader: SoundReader? { sound as? SoundReader ?? (sound as? SoundSlice)?.reader }

  var format: PCMFormat { sound.format }
  var frames: Int64 { Int64(part.count) }
  var isOpenEnded: Bool { mayEndEarly || sound.isOpenEnded }
  func stop() { sound.stop() }
  var warnings: [String] {
    !mayEndEarly && part.upperBound == sound.frames ? sound.warnings : []
  }
  var faults: [String] { sound.faults }

  func read(
    startingAt frame: Int64, frames count: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(SoundFileError) -> Int {
    guard frame >= 0, frame < frames else { return 0 }
    let wanted = Int(min(Int64(count), frames - frame))
    let read = try unsafe sound.read(
      startingAt: part.lowerBound + frame, frames: wanted, into: buffer)
    let gain = gain * (level?.factor ?? 1)
    if gain != 1 {
      let samples = unsafe buffer.bindMemory(to: Float.self)
      for index in 0..<(read * format.channels) { unsafe samples[index] *= gain }
    }
    return read
  }
}
