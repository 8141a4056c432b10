import ArgumentParser
import AudioQueue
import Server
import System
import Timeline

/// The value of `--at`.
enum StartOption: ExpressibleByArgument {
  /// A frame in the server's frame time.
  case frame(Int64)
  /// Time from now; frames are the server's.
  case after(TimeValue)
  /// Nanoseconds of CLOCK_MONOTONIC.
  case hostTime(UInt64)
  /// An instant of UTC or TAI.
  case wallTime(WallTime)

  /// More than thirty years. Larger values would overflow frame counts.
  static var mostSeconds: Double { 1e9 }

  init?(argument: String) {
    if argument.hasPrefix("+") {
      guard let time = TimeValue(String(argument.dropFirst())) else { return nil }
      self = .after(time)
    } else if argument.hasSuffix("ns") {
      guard let time = UInt64(argument.dropLast(2)), time < 1 << 62 else { return nil }
      self = .hostTime(time)
    } else if let time = WallTime(argument) {
      self = .wallTime(time)
    } else {
      guard let frame = Int64(argument), frame >= 0 else { return nil }
      self = .frame(frame)
    }
  }

  /// Tells how long a file waits for a time on the wall clock, and how well the clock is kept.
  func tellWait(of file: String) {
    guard case .wallTime(let time) = self else { return }
    let clock = WallClock.now
    if let warning = clock.warning(for: time) { Screen.shared.remark(warning) }
    let seconds = (Double(time.hostTime) - Double(HostTime.now)) / 1e9
    if seconds < 1 { return }
    Screen.shared.say(
      "\(file): waits until \(time.text), \(Int(held: seconds)) seconds from now; \(clock.words)")
  }

  /// Returns the start on the device of `queue`. Waits until the server carries sound over the
  /// queue's connections.
  func start(on queue: some Queue) throws(QueueError) -> ChosenStart {
    try queue.awaitHeard()
    guard let device = queue.runningDevice else { throw .invalidated }
    let rate = device.client.sampleRate
    let now = device.now
    switch self {
    case .after(let time):
      return ChosenStart(frame: now + time.frames(at: rate), on: device)
    case .hostTime(let time):
      return ChosenStart(hostTime: time, on: device)
    case .wallTime(let time):
      return ChosenStart(time, on: device)
    case .frame(let number):
      return ChosenStart(frame: device.frame(numbered: number), on: device)
    }
  }
}
