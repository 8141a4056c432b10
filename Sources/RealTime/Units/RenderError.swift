/// Errors of renders, with the codes of the C API.
package enum RenderError {
  package static var badArgument: Int32 { @_noLocks get { -50 } }
  package static var invalidParameter: Int32 { @_noLocks get { -10878 } }
  package static var invalidScope: Int32 { @_noLocks get { -10866 } }
  package static var invalidElement: Int32 { @_noLocks get { -10877 } }
  package static var noConnection: Int32 { @_noLocks get { -10876 } }
  package static var tooManyFrames: Int32 { @_noLocks get { -10874 } }
  package static var uninitialized: Int32 { @_noLocks get { -10867 } }
  package static var wrongContext: Int32 { @_noLocks get { -10863 } }
  package static var formatNotSupported: Int32 { @_noLocks get { -10868 } }
  /// Too many scheduled changes or messages wait.
  package static var memoryFull: Int32 { @_noLocks get { -108 } }
  /// The unit hears no MIDI.
  package static var unsupported: Int32 { @_noLocks get { -66751 } }
}
