import Sessions
import System

/// The jobs of the thread `cuejack-session`, and when it looks at the engine next. Used under the lock of its owner.
struct SessionWork {
  /// The value or the scene that a job sets. Of waiting jobs with one subject, only the last one is carried out.
  enum Subject: Equatable, Sendable {
    /// A value, by its address.
    case value(String)
    /// The values of a scene, by the address and the name that recall it.
    case scene(String)
  }

  /// Work that somebody has asked for.
  struct Job: Sendable {
    /// Nil if a later job never makes this one needless.
    let subject: Subject?
    let run: @Sendable () -> Result<Void, SessionRunError>
    /// The functions that take the outcome: those of this job, and of earlier ones whose place it has taken.
    var ends: [@Sendable (Result<Void, SessionRunError>) -> Void]

    func callAsFunction() {
      let outcome = run()
      for end in ends { end(outcome) }
    }
  }

  /// The next step of the thread: carry out a job, look at the engine, wait for `pause`, which has become shorter, or
  /// end.
  enum Task {
    case job(Job)
    case service, wait, end
  }

  /// Set if the session's thread is to look at the engine at once.
  var isDue = false
  var isOver = false
  var hasEnded = false
  private(set) var jobs: [Job] = []
  /// Host time of the next look at the engine in nanoseconds, which jobs do not put off. The greatest number during a
  /// look.
  private var nextService: UInt64 = 0
  /// True if `nextService` has become earlier and the thread, which may wait, does not know it yet.
  private var isNearer = false

  /// Seconds between two looks at the engine.
  static let period = 0.05
  /// Seconds between two looks at one that stands still. Jobs, changes of connections, and the loss and return of the
  /// server come between.
  static let longPeriod = 1.0

  /// Seconds until the next look.
  var pause: Double {
    let now = HostTime.now
    return nextService > now ? Double(nextService - now) / 1e9 : 0
  }

  /// Lets the next look be within `period`.
  mutating func hurry() {
    let soon = HostTime.now + UInt64(Self.period * 1e9)
    guard soon < nextService else { return }
    nextService = soon
    isNearer = true
  }

  /// Adds a job. It takes the place of a waiting one with its subject, unless something in between asks for the
  /// values that are set by then.
  mutating func add(_ job: Job) {
    if let index = placeOfEarlier(job.subject) {
      var job = job
      job.ends = jobs[index].ends + job.ends
      // Scenes may have values in common: the last one recalled is the last one carried out.
      if case .value = job.subject {
        jobs[index] = job
        return
      }
      jobs.remove(at: index)
      jobs.append(job)
    } else {
      jobs.append(job)
    }
  }

  private func placeOfEarlier(_ subject: Subject?) -> Int? {
    guard let subject else { return nil }
    for index in jobs.indices.reversed() {
      if jobs[index].subject == subject { return index }
      switch (subject, jobs[index].subject) {
      case (_, nil), (.value, .scene): return nil
      default: break
      }
    }
    return nil
  }

  /// Takes what is to be done now; nil if nothing is.
  mutating func next() -> Task? {
    if isDue || HostTime.now >= nextService {
      isDue = false
      nextService = .max
      return .service
    }
    if !jobs.isEmpty {
      hurry()
      return .job(jobs.removeFirst())
    }
    if isNearer {
      isNearer = false
      return .wait
    }
    return isOver ? .end : nil
  }

  /// Notes that the thread has looked at the engine.
  mutating func noteService(isBusy: Bool) {
    let pause = isBusy ? Self.period : Self.longPeriod
    nextService = min(nextService, HostTime.now + UInt64(pause * 1e9))
    isNearer = false
  }
}
