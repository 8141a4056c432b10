/// The edges of one input: `count` of the order's edges, from index `first` on.
@safe
package struct GraphInput: BitwiseCopyable {
  let first: Int
  let count: Int
  /// Pointer to the samples that the input reads directly; nil if edges are summed.
  let plainSource: UnsafeMutablePointer<UnsafeMutablePointer<Float>>?
  /// Set if an edge of the order before delivered events here and no longer does: notes that sound
  /// must end.
  let endsNotes: Bool
  package init(first: Int, count: Int, endsNotes: Bool = false) {
    self.first = first
    self.count = count
    unsafe plainSource = nil
    self.endsNotes = endsNotes
  }
  /// Creates an audio input with `count` of the initialized `edges`.
  package init(first: Int, count: Int, of edges: UnsafeMutablePointer<GraphEdge>) {
    self.first = first
    self.count = count
    endsNotes = false
    let isPlain = unsafe count == 1 && edges[first].isPlain
    unsafe plainSource = isPlain ? edges[first].source : nil
  }
}
