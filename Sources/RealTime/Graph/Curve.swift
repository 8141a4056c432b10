/// The position of a timeline over device frames: `origin` up to the device frame `anchor`, from which the timeline
/// runs.
package struct GraphCourse: BitwiseCopyable, Equatable, Sendable {
  package var origin: Int64
  package var anchor: Int64

  /// - Parameter anchor: `Int64.max` for a timeline that stands still.
  package init(origin: Int64 = 0, anchor: Int64 = .max) {
    self.origin = origin
    self.anchor = anchor
  }

  /// Returns the position at a device frame.
  @_noLocks package func position(at frame: Int64) -> Int64 {
    isStanding(at: frame) ? origin : origin &+ (frame &- anchor)
  }
  @_noLocks func isStanding(at frame: Int64) -> Bool { frame < anchor }
}

/// A point of a curve: a value from a frame of the timeline on.
package struct CurvePoint: BitwiseCopyable, Equatable, Sendable {
  package var frame: Int64
  package var value: Double

  package init(frame: Int64, value: Double) {
    self.frame = frame
    self.value = value
  }
}

/// A value over a timeline: points, and lines or steps between them. Before the first point, the curve has that
/// point's value.
///
/// A pure function of the position, so cycles of any length compute the same values. The creator owns the memory.
@safe
package struct Curve: BitwiseCopyable {
  /// In order of their frames, at least one. Of several at one frame, the last one counts from that frame on.
  private let points: UnsafePointer<CurvePoint>
  private let count: Int
  /// Whether each value holds up to the next point.
  private let isStepped: Bool
  /// The timeline. Only the process thread changes the course, between cycles.
  let course: UnsafePointer<GraphCourse>

  package init(
    _ points: UnsafePointer<CurvePoint>, count: Int, isStepped: Bool,
    on course: UnsafePointer<GraphCourse>
  ) {
    unsafe self.points = points
    self.count = count
    self.isStepped = isStepped
    unsafe self.course = course
  }

  /// Returns the index of the last point that is not after a position; -1 if there is none.
  @_noLocks private func index(at position: Int64) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low &+ high) >> 1
      if unsafe points[middle].frame <= position { low = middle &+ 1 } else { high = middle }
    }
    return low &- 1
  }

  /// Returns the point to which the value goes in a line from a position on; nil if the value stays.
  @_noLocks func slope(at position: Int64) -> CurvePoint? {
    let index = index(at: position)
    guard !isStepped, index >= 0, index &+ 1 < count else { return nil }
    let next = unsafe points[index &+ 1]
    return unsafe next.value == points[index].value ? nil : next
  }

  /// Returns the value at a position.
  @_noLocks package func value(at position: Int64) -> Double {
    let index = index(at: position)
    if index < 0 { return unsafe points[0].value }
    let point = unsafe points[index]
    guard let next = slope(at: position) else { return point.value }
    let part = Double(position &- point.frame) / Double(next.frame &- point.frame)
    return point.value + (next.value - point.value) * part
  }

  /// Returns the frame of the first point after a position; `Int64.max` if there is none.
  @_noLocks func nextPoint(after position: Int64) -> Int64 {
    let next = index(at: position) &+ 1
    return next < count ? unsafe points[next].frame : .max
  }

  /// Whether the value stays the same over the device frames from `frame` on.
  @_noLocks func isConstant(from frame: Int64, over frames: Int) -> Bool {
    let course = unsafe course.pointee
    let first = course.position(at: frame)
    let last = course.position(at: frame &+ Int64(frames) &- 1)
    return first == last || slope(at: first) == nil && nextPoint(after: first) > last
  }
}
