public import CAudioToolbox
import CRealTime
import Glibc
import Hardware
import Server
import Synchronization

/// The latest second and more of a device's input, which cycles write and AudioDeviceRead reads.
@safe
private struct InputRing: ~Copyable {
  let samples: UnsafeMutableBufferPointer<Float>
  let channels: Int
  /// A power of 2.
  let frames: Int64
  /// The device frame behind the last one that was written; .min before the first.
  let end = Atomic<Int64>(.min)
  /// The first frame that was written.
  let begin = Atomic<Int64>(.min)

  init(channels: Int, atLeast count: Int) {
    self.channels = channels
    frames = Int64(1) << Int64(Int.bitWidth - (count - 1).leadingZeroBitCount)
    unsafe samples = .allocate(capacity: Int(frames) * channels)
    unsafe samples.initialize(repeating: 0)
  }

  deinit { unsafe samples.deallocate() }

  func index(_ frame: Int64) -> Int { Int(frame & (frames - 1)) * channels }
}

/// Writes the input of a cycle: `context` is an `InputRing`. Process thread.
@_noLocks private func keepInput(_ context: UnsafeMutableRawPointer, _ io: UnsafePointer<cue_io>) {
  let ring = unsafe context.assumingMemoryBound(to: InputRing.self)
  let (first, count) = unsafe (io.pointee.input_frame, Int64(io.pointee.frames))
  guard let input = unsafe io.pointee.input else { return }
  let channels = unsafe ring.pointee.channels
  guard unsafe io.pointee.input_channels == UInt32(truncatingIfNeeded: channels) else { return }
  if unsafe ring.pointee.begin.load(ordering: .relaxed) == .min {
    unsafe ring.pointee.begin.store(first, ordering: .relaxed)
  }
  for i in 0..<count {
    let place = unsafe ring.pointee.index(first &+ i)
    for channel in 0..<channels {
      unsafe ring.pointee.samples[place &+ channel] = input[Int(i) &* channels &+ channel]
    }
  }
  unsafe ring.pointee.end.store(first &+ count, ordering: .releasing)
}

/// Keeps the latest input of a device for AudioDeviceRead, as a function of the device.
@safe
final class DeviceReader: @unchecked Sendable {
  /// The readers of the devices, by the devices' numbers. They begin with the first read, and end when the device
  /// stops.
  fileprivate static let all = Mutex<[AudioObjectID: DeviceReader]>([:])

  @safe
  private final class Memory: @unchecked Sendable {
    let ring: UnsafeMutablePointer<InputRing>
    init(_ ring: consuming InputRing) {
      unsafe self.ring = .allocate(capacity: 1)
      unsafe self.ring.initialize(to: ring)
    }
    deinit {
      unsafe ring.deinitialize(count: 1)
      unsafe ring.deallocate()
    }
  }

  private let device: HardwareDevice
  private let memory: Memory
  private let function: IOFunction

  init(_ object: DeviceObject) throws(HardwareError) {
    device = object.device
    let facts = try onServer(object.device.facts)
    guard facts.inputs > 0 else { throw .unsupported("the device \(object.id) has no input") }
    memory = Memory(InputRing(channels: facts.inputs, atLeast: Int(2 * facts.sampleRate)))
    function = unsafe IOFunction(
      cue_io_function(run: { unsafe keepInput($0, $1) }, context: memory.ring), keeping: memory)
    function.setUse(input: true, output: false)
    device.add(function)
    _ = try onServer(device.start(function))
  }

  /// Ends the reader of a device, if it has one.
  static func end(of device: AudioObjectID) {
    guard let reader = all.withLock({ $0.removeValue(forKey: device) }) else { return }
    reader.device.remove(reader.function)
  }

  /// Copies frames from `first` on, interleaved, once they are there. Those before the reader began are silent.
  ///
  /// - Parameter now: The present frame of the device.
  func read(_ first: Int64, now: Int64, to samples: UnsafeMutableBufferPointer<Float>)
    throws(HardwareError)
  {
    let ring = unsafe memory.ring
    let channels = unsafe ring.pointee.channels
    let (frames, second) = unsafe (Int64(samples.count / channels), ring.pointee.frames / 2)
    guard frames <= second, (now - second...now + second).contains(first) else {
      throw .badArgument("\(frames) frames at \(first) are not within a second of \(now)")
    }
    let last = first + frames
    while unsafe ring.pointee.end.load(ordering: .acquiring) < last {
      guard function.isRunning, !(try onServer(device.open()).isLost) else {
        throw .server(.lost(server: device.serverName))
      }
      usleep(1000)
    }
    let begin = unsafe ring.pointee.begin.load(ordering: .relaxed)
    for frame in first..<last {
      for channel in 0..<channels {
        let place = Int(frame - first) * channels + channel
        unsafe samples[place] =
          frame < begin ? 0 : ring.pointee.samples[ring.pointee.index(frame) + channel]
      }
    }
    // A cycle may have written over the first frames meanwhile.
    guard unsafe ring.pointee.end.load(ordering: .acquiring) - 2 * second <= first
    else {
      throw .badArgument("the frame \(first) is more than a second old")
    }
  }
}

/// See AudioDeviceRead in AudioHardwareDeprecated.h.
@c @implementation
public func AudioDeviceRead(
  _ inDevice: AudioObjectID, _ inStartTime: UnsafePointer<AudioTimeStamp>,
  _ outData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  unsafe answer("AudioDeviceRead", needs: inStartTime, outData) { () throws(HardwareError) in
    let object = try HardwareObjects.shared.device(inDevice)
    guard IOProcs.shared.isStartedAlone(object) else { throw .noSuchProc(inDevice) }
    let device = try openDevice(inDevice)
    let first = try frame(of: unsafe inStartTime.pointee, on: device)
    let reader = try DeviceReader.all.withLock { readers throws(HardwareError) in
      if let reader = readers[inDevice] { return reader }
      let reader = try DeviceReader(object)
      readers[inDevice] = reader
      return reader
    }
    let channels = try onServer(object.device.facts).inputs
    let buffer = unsafe outData.pointee.mBuffers
    guard unsafe outData.pointee.mNumberBuffers == 1, let data = unsafe buffer.mData else {
      throw .badArgument("the input of a device is one buffer")
    }
    let frames = unsafe Int(buffer.mDataByteSize) / (4 * channels)
    unsafe outData.pointee.mBuffers.mNumberChannels = UInt32(channels)
    unsafe outData.pointee.mBuffers.mDataByteSize = UInt32(4 * channels * frames)
    try unsafe reader.read(
      first, now: device.now,
      to: UnsafeMutableBufferPointer(
        start: data.assumingMemoryBound(to: Float.self), count: frames * channels))
  }
}
