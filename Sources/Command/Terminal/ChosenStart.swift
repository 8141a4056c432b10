import Server
import System
import Timeline

/// The start time of a command's queues.
struct ChosenStart {
  /// Start in device frames.
  var frame: Int64
  /// The same time in nanoseconds of CLOCK_MONOTONIC.
  var hostTime: UInt64
  /// True if queues are started by host time: it was given, or other processes count frames
  /// differently.
  var isHostTime: Bool
  /// True if `frame` is an estimate. The cycle in which the host time lies decides.
  private var isEstimate = false
  /// The time of the wall clock that was given; nil for any other start.
  private var wallTime: WallTime?
  /// How often the server had returned: each time it counts frames anew.
  private var restarts: UInt64

  init(frame: Int64, on device: Device) {
    self.frame = frame
    hostTime = device.hostTime(ofFrame: frame)
    isHostTime = device.client.isPipeWire
    restarts = device.restarts
  }

  init(hostTime: UInt64, on device: Device) {
    self.hostTime = hostTime
    frame = device.frame(atHostTime: hostTime)
    isHostTime = true
    isEstimate = true
    restarts = device.restarts
  }

  init(_ time: WallTime, on device: Device) {
    self.init(hostTime: time.hostTime, on: device)
    wallTime = time
  }

  /// The start as `--at` takes it.
  var option: String { wallTime?.text ?? (isHostTime ? "\(hostTime)ns" : "\(frame)") }

  /// Keeps the host time on a server that has returned, as the queues that wait do.
  mutating func follow(_ device: Device) {
    guard device.restarts != restarts, !device.isLost else { return }
    let time = wallTime
    self = ChosenStart(hostTime: hostTime, on: device)
    wallTime = time
  }

  /// Returns the start by the wall clock as it is set now; nil if it is as before, or is due within a second.
  func reset(on device: Device) -> ChosenStart? {
    guard isEstimate, let wallTime, hostTime > HostTime.now + 1_000_000_000 else { return nil }
    let distance = Int64(wallTime.hostTime) - Int64(hostTime)
    // Two readings of the clocks differ by less than a frame.
    return abs(distance) < 20_000 ? nil : ChosenStart(wallTime, on: device)
  }

  /// Returns the device frame of the start, as close as is known, if it is later than a frame; nil if it is not.
  func frame(after least: Int64, on device: Device) -> Int64? {
    let frame = isEstimate ? device.frame(atHostTime: hostTime) : frame
    return frame > least ? frame : nil
  }

  /// Returns the start time for a queue that starts `frames` device frames earlier.
  func time(before frames: Int64 = 0, sampleRate: Double) -> StartTime {
    if !isHostTime { return .frame(frame - frames) }
    let lead = UInt64(held: (Double(frames) / sampleRate * 1e9).rounded())
    return .hostTime(hostTime > lead ? hostTime - lead : 0)
  }

  /// The device frame of the start; nil as long as it is an estimate.
  var exactFrame: Int64? { isEstimate ? nil : frame }

  /// Notes the device frame on which the queues have started.
  mutating func settle(on frame: Int64) {
    self.frame = frame
    isEstimate = false
  }

  /// Description of the start, with the host time for other commands to join at.
  var words: String {
    isEstimate
      ? "starts at host time \(hostTime)ns" : "start frame \(frame), host time \(hostTime)ns"
  }
}
