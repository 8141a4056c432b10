import CAudioToolbox
import CRealTime
import Hardware

/// Arguments of an IOProc's calls, at a fixed address. Only the process thread uses them once the IOProc
/// runs.
@safe
private struct IOProcCall: BitwiseCopyable {
  let proc: cue_io_proc
  let device: AudioObjectID
  let data: UnsafeMutableRawPointer?
  var now = AudioTimeStamp()
  var inputTime = AudioTimeStamp()
  var outputTime = AudioTimeStamp()
  var input = AudioBufferList()
  var output = AudioBufferList()
}

/// Calls an IOProc: `context` is an `IOProcCall`. Process thread.
@_noLocks private func callIOProc(_ context: UnsafeMutableRawPointer, _ io: UnsafePointer<cue_io>) {
  let call = unsafe context.assumingMemoryBound(to: IOProcCall.self)
  let scalar = unsafe io.pointee.rate_scalar
  unsafe set(&call.pointee.now, io.pointee.now_frame, io.pointee.now_time, scalar)
  unsafe set(&call.pointee.inputTime, io.pointee.input_frame, io.pointee.input_time, scalar)
  unsafe set(&call.pointee.outputTime, io.pointee.output_frame, io.pointee.output_time, scalar)
  let frames = unsafe io.pointee.frames
  let inputBytes = unsafe frames &* io.pointee.input_channels &* 4
  let outputBytes = unsafe frames &* io.pointee.output_channels &* 4
  unsafe call.pointee.input.mNumberBuffers = io.pointee.input == nil ? 0 : 1
  unsafe call.pointee.input.mBuffers.mNumberChannels = io.pointee.input_channels
  unsafe call.pointee.input.mBuffers.mDataByteSize = inputBytes
  unsafe call.pointee.input.mBuffers.mData = UnsafeMutableRawPointer(mutating: io.pointee.input)
  unsafe call.pointee.output.mNumberBuffers = io.pointee.output == nil ? 0 : 1
  unsafe call.pointee.output.mBuffers.mNumberChannels = io.pointee.output_channels
  unsafe call.pointee.output.mBuffers.mDataByteSize = outputBytes
  unsafe call.pointee.output.mBuffers.mData = UnsafeMutableRawPointer(io.pointee.output)
  unsafe cue_rt_call_io_proc(
    call.pointee.proc, call.pointee.device, &call.pointee.now, &call.pointee.input,
    &call.pointee.inputTime, &call.pointee.output, &call.pointee.outputTime, call.pointee.data)
  // The app may have written fewer bytes, and anything behind them.
  if let output = unsafe io.pointee.output {
    let written = unsafe min(call.pointee.output.mBuffers.mDataByteSize, outputBytes)
    for i in Int(written / 4)..<Int(outputBytes / 4) { unsafe output[i] = 0 }
  }
}

@_noLocks private func set(
  _ time: inout AudioTimeStamp, _ frame: Int64, _ hostTime: UInt64, _ scalar: Double
) {
  time.mSampleTime = Double(frame)
  time.mHostTime = hostTime
  time.mRateScalar = scalar
  // Sample time, host time, rate scalar.
  time.mFlags = AudioTimeStampFlags(rawValue: 1 | (hostTime > 0 ? 2 : 0) | (scalar > 0 ? 4 : 0))
}

/// The memory of a call.
@safe
private final class IOProcMemory: @unchecked Sendable {
  let call: UnsafeMutablePointer<IOProcCall>
  /// The object that the call's data points to; nil if the app owns it.
  private let owner: AnyObject?

  init(_ call: IOProcCall, keeping owner: AnyObject?) {
    self.owner = owner
    unsafe self.call = .allocate(capacity: 1)
    unsafe self.call.initialize(to: call)
  }

  deinit { unsafe call.deallocate() }
}

/// A C function that the app has added to a device.
final class IOProc: Sendable {
  let device: HardwareDevice
  /// The function's address; 0 for none.
  let address: UInt
  let function: IOFunction

  /// - Parameter proc: The function; nil to only start the device.
  /// - Parameter owner: An object that lives as long as the function is called.
  init(
    _ object: DeviceObject, _ proc: AudioDeviceIOProc?, _ data: UnsafeMutableRawPointer?,
    keeping owner: AnyObject?
  ) {
    device = object.device
    unsafe address = unsafeBitCast(proc, to: UInt.self)
    guard let proc = unsafe proc else {
      function = unsafe IOFunction(
        cue_io_function(run: { _, _ in }, context: UnsafeMutableRawPointer(bitPattern: 8)!),
        keeping: object.device)
      function.setUse(input: false, output: false)
      return
    }
    let memory = unsafe IOProcMemory(
      IOProcCall(proc: unsafeBitCast(proc, to: cue_io_proc.self), device: object.id, data: data),
      keeping: owner)
    function = unsafe IOFunction(
      cue_io_function(run: { unsafe callIOProc($0, $1) }, context: memory.call), keeping: memory)
  }
}
