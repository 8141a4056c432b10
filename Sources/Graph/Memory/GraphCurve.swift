package import RealTime

/// A curve over one of a graph's timelines.
package struct GraphCurve: Sendable {
  /// In order of their frames, at least one.
  package var points: [CurvePoint]
  /// Whether each value holds up to the next point.
  package var isStepped: Bool
  /// Number of the timeline.
  package var course: Int

  package init(_ points: [CurvePoint], isStepped: Bool, course: Int) {
    self.points = points
    self.isStepped = isStepped
    self.course = course
  }

  /// Returns the value at a frame of the timeline.
  package func value(at position: Int64) -> Double {
    unsafe points.withUnsafeBufferPointer { points in
      guard let first = points.baseAddress else { return 0 }
      let standing = GraphCourse()
      return unsafe withUnsafePointer(to: standing) { course in
        unsafe Curve(first, count: points.count, isStepped: isStepped, on: course)
          .value(at: position)
      }
    }
  }
}
