package import CRealTime

/// A curve of a plugin's control, and what the plugin has been told of it. Process thread.
@safe
package struct ControlCurve: BitwiseCopyable {
  let curve: Curve
  /// The plugin's number of the control.
  let control: UInt32
  /// Position at which the plugin goes on as told, and whether the timeline stood still before; nil if the plugin was
  /// told nothing.
  private var next: Int64?
  private var stood = false

  package init(_ curve: Curve, of control: UInt32) {
    self.curve = curve
    self.control = control
  }

  /// Writes the changes in a block.
  ///
  /// The plugin ramps by itself from point to point, and is told anew after a leap of the timeline.
  @_noLocks fileprivate mutating func follow(
    _ frame: Int64, _ frames: Int, _ output: MoveOutput
  ) {
    let course = unsafe curve.course.pointee
    var at = 0
    while at < frames {
      let now = frame &+ Int64(at)
      let position = course.position(at: now)
      let stands = course.isStanding(at: now)
      let point = curve.nextPoint(after: position &- 1)
      if next != position || stood != stands || point == position && !stands {
        output.move(control, to: curve.value(at: position), at: at, over: 0)
        if !stands, let slope = curve.slope(at: position) {
          output.move(control, to: slope.value, at: at, over: slope.frame &- position)
        }
      }
      let left = Int64(frames &- at)
      let step =
        stands
        ? min(left, course.anchor &- now)
        : min(left, curve.nextPoint(after: position) &- position)
      next = stands ? position : position &+ step
      stood = stands
      at &+= Int(step)
    }
  }
}

/// A sequence that takes changes of controls.
@safe
private struct MoveOutput {
  let sequence: UnsafeMutableRawPointer
  let capacity: UInt32
  /// URID of the events.
  let type: UInt32

  @_noLocks func move(_ control: UInt32, to value: Double, at offset: Int, over ramp: Int64) {
    var move = cue_control_move(
      control: control, value: Float(value), ramp: UInt32(clamping: ramp))
    _ = unsafe cue_rt_insert_event(
      sequence, capacity, Int64(offset), type, UInt32(MemoryLayout<cue_control_move>.size), &move)
  }
}

/// The curves of one plugin's controls: a graph node without inputs, which writes the changes of each block as events.
/// Owns no memory.
@safe
package struct ControlCurves: BitwiseCopyable {
  private let curves: UnsafeMutablePointer<ControlCurve>
  private let count: Int
  private let types: cue_event_types
  /// URID of the events.
  private let type: UInt32

  package init(
    _ curves: UnsafeMutablePointer<ControlCurve>, count: Int, _ types: cue_event_types, type: UInt32
  ) {
    unsafe self.curves = curves
    self.count = count
    self.types = types
    self.type = type
  }

  /// Writes the block's changes to the first event output. Process thread.
  @_noLocks package func run(_ block: UnsafePointer<cue_block>) {
    guard let sequence = unsafe block.pointee.event_outputs?[0] else { return }
    let output = unsafe MoveOutput(
      sequence: sequence, capacity: cue_rt_begin_events(sequence, types.sequence), type: type)
    for i in 0..<count {
      unsafe curves[i].follow(block.pointee.frame, Int(block.pointee.frames), output)
    }
  }
}
