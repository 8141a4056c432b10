import Timeline

/// Start time and length of one process cycle.
struct CycleTime: BitwiseCopyable {
  let frames: Int
  /// Device frame of its first frame.
  let frame: Int64
  /// Frames skipped immediately before this cycle: the server ran cycles without this client.
  let missed: Int
  /// Frames by which device time was renumbered immediately before, without any frame passing.
  let shift: Int64
  /// Set if the driver's counter restarted with this cycle, as when PipeWire moves the client to
  /// another driver. The ports may have no buffers yet; the sound of the cycle is lost then.
  let isJump: Bool
  /// Set if the cycle plays and records nothing: the ports get silence.
  let isMute: Bool
  /// Host time in microseconds, on the clock that times cycles, at its first frame and the next
  /// cycle's.
  let microseconds: UInt64
  let nextMicroseconds: UInt64

  @_noLocks init(
    frames: Int, frame: Int64, missed: Int, shift: Int64, isJump: Bool, isMute: Bool,
    microseconds: UInt64, nextMicroseconds: UInt64
  ) {
    self.frames = frames
    self.frame = frame
    self.missed = missed
    self.shift = shift
    self.isJump = isJump
    self.isMute = isMute
    self.microseconds = microseconds
    self.nextMicroseconds = nextMicroseconds
  }
}
