import CGlibc

/// The number of processors on which this process may run, 1 at least.
package var availableProcessors: Int {
  // Room for as many as Linux supports.
  var set = [UInt64](repeating: 0, count: 128)
  guard unsafe cue_processors(0, UInt(8 * set.count), &set) == 0 else { return 1 }
  return max(1, set.reduce(0) { $0 + $1.nonzeroBitCount })
}
