import Glibc
import System

/// The SoundFont of an instrument.
package final class SoundFontChoice: Sendable {
  package let path: String
  /// True for a file that goes with the instrument.
  private let isTemporary: Bool

  /// - Parameter isTemporary: True to delete the file with this object.
  package init(_ path: String, isTemporary: Bool = false) {
    self.path = path
    self.isTemporary = isTemporary
  }

  deinit { if isTemporary { unsafe unlink(path.systemName) } }
}
