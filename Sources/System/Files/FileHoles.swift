import CGlibc

/// Gives the room of a file's first bytes back to the file system, where it can take it; they become zeros, and the
/// file keeps its length. Any thread.
package func dropBytes(of descriptor: Int32, before offset: Int64) {
  // FALLOC_FL_KEEP_SIZE and FALLOC_FL_PUNCH_HOLE.
  if offset > 0 { _ = cue_allocate(descriptor, 1 | 2, 0, Int(offset)) }
}
