import TestSupport
import Testing

@testable import Control
@testable import Sessions

/// The jobs of a session's thread.
@Suite struct SessionWorkTests {
  private func names(_ subjects: [SessionWork.Subject?]) -> [String] {
    var work = SessionWork()
    let done = Done()
    for (index, subject) in subjects.enumerated() {
      work.add(
        SessionWork.Job(
          subject: subject,
          run: {
            done.names.append("\(index)")
            return .success(())
          }, ends: [{ _ in done.ends.append(index) }]))
    }
    work.noteService(isBusy: true)
    for job in work.jobs { job() }
    expectEqual(done.ends.sorted(), Array(subjects.indices))
    return done.names
  }

  private final class Done: @unchecked Sendable {
    var names: [String] = []
    var ends: [Int] = []
  }

  @Test func ofWaitingEditsOfOneValueTheLastOneCounts() {
    expectEqual(names([.value("a"), .value("b"), .value("a")]), ["2", "1"])
    // The others may read the value, or set it.
    expectEqual(names([.value("a"), nil, .value("a")]), ["0", "1", "2"])
    expectEqual(names([.value("a"), .scene("A"), .value("a")]), ["0", "1", "2"])
  }

  @Test func ofWaitingRecallsOfOneSceneTheLastOneCounts() {
    expectEqual(
      names([.scene("A"), .scene("B"), .value("a"), .scene("A"), .scene("B")]), ["2", "3", "4"])
    expectEqual(names([.scene("A"), nil, .scene("A")]), ["0", "1", "2"])
  }

  /// A flood of jobs must not keep the thread from looking at the engine.
  @Test func jobsDoNotPutOffTheEngine() {
    var work = SessionWork()
    work.add(SessionWork.Job(subject: nil, run: { .success(()) }, ends: []))
    expectTrue(isService(work.next()))
    work.noteService(isBusy: true)
    work.isDue = true
    expectTrue(isService(work.next()))
  }

  /// An engine that stands still is looked at once a second, but soon after something has happened.
  @Test func theNextLookComesNearer() {
    var work = SessionWork()
    expectTrue(isService(work.next()))
    work.noteService(isBusy: false)
    expectNil(work.next())
    expectTrue(work.pause > SessionWork.period)
    work.hurry()
    expectTrue(work.pause <= SessionWork.period)
    if case .wait? = work.next() {} else { Issue.record("the thread waits on") }
    expectNil(work.next())
  }

  /// A look at the engine may not have seen news that came while it was under way.
  @Test func newsDuringALookBringTheNextOneNearer() {
    var work = SessionWork()
    expectTrue(isService(work.next()))
    work.hurry()
    work.noteService(isBusy: false)
    expectTrue(work.pause <= SessionWork.period)
  }

  private func isService(_ task: SessionWork.Task?) -> Bool {
    if case .service? = task { true } else { false }
  }
}
