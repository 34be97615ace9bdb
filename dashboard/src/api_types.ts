// Made from src/app/schemas.json by scripts/types.mjs; do not change it by hand.

export type Any = unknown;

export type Problem = {
  title?: string;
  status: number;
  detail: string;
  code: string;
};

export type Status = 'running' | 'queued' | 'paused' | 'diverged' | 'quarantined' | 'completed' | 'failed' | 'cancelled';

export type Wait = {
  kind: string;
  name: string;
  id?: string;
  due?: string;
  attempts?: number;
  running?: boolean;
  at?: string;
  unit?: string;  // of a lock: the step that waits for it
  holder?: string;  // the task that has the lock
  holder_unit?: string;  // the step of that task
};

export type Task = {
  id: string;
  type: string;
  version?: number;
  status: Status;
  began?: string;
  records?: number;  // the number of its last record
  key?: string;
  parent?: string;
  attributes?: Record<string, unknown>;
  result?: unknown;
  detail?: string;  // why it failed, or does not run
  waits?: Array<Wait>;
  asks?: Array<string>;  // in lists: the promises that others have to keep
};

export type Counts = Record<string, number>;

export type TaskPage = {
  tasks: Array<Task>;
  next?: string;
  counts: Counts;
};

export type Info = {
  name: string;
  version: string;
  phase: string;
  pid?: number;
  started?: string;
  uptime_seconds?: number;
  data?: string;
  you?: string;
  role?: string;
  recovery?: string;
  counts?: Counts;
};

export type Types = {
  types: Array<{
    name: string;
    arguments: Array<Record<string, unknown>>;
    result?: unknown;
    calls?: Array<Record<string, unknown>>;
  }>;
};

export type Start = {
  type: string;
  arguments?: unknown;  // an array in the order of the arguments, or an object by their names
  id?: string;
  key?: string;
  priority?: number;
  timeout?: string;  // 30s, 5m, 2h, 1d
  attributes?: Record<string, unknown>;
};

export type Reason = {
  reason?: string;
};

export type From = {
  from: string;  // a step, such as charge#1
  reason?: string;
};

export type Signal = {
  name: string;
  value?: unknown;
  reason?: string;
};

export type Update = {
  value?: unknown;  // what the handler of the update is given
  id?: string;  // a UUID or any text: the same is the same update
  reason?: string;
};

export type Updated = {
  task: string;
  name: string;
  update: string;
  answer: unknown;
};

export type Keep = {
  value?: unknown;
  error?: string;
  reason?: string;
};

export type Done = {
  done: string;
  task?: string;
  name?: string;
  promise?: string;
};

export type Forked = {
  task: string;
  fork_of: string;
};

export type Records = {
  records: Array<Record<string, unknown>>;
  next?: number;
};

export type Inspection = {
  agrees: boolean;
  same_result?: boolean;
  difference?: string;
  commands?: number;
  next?: Array<string>;
  events?: Array<string>;
};

export type Promises = {
  promises: Array<{
    id: string;
    name: string;
    task: string;
    since?: string;
    type?: string;
    key?: string;  // of the task
  }>;
};

export type Schedule = {
  name: string;
  paused?: boolean;
  next?: string;
  created?: string;
  runs?: number;
  asked?: number;
  skipped?: number;
  last?: string;
  problem?: string;
};

export type Schedules = {
  schedules: Array<Schedule>;
};

export type NewSchedule = {
  name: string;
  type: string;
  arguments?: Array<unknown>;
  cron?: string;
  every?: string;
  zone?: string;
  overlap?: 'skip' | 'queue' | 'cancel';
  catch_up?: number;
};

export type Problems = {
  summary: string;
  problems: Array<{
    kind?: string;
    tid?: number;
    text?: string;
  }>;
};

export type StepFigures = {
  tasks: number;  // how many were looked at
  steps: Array<{
    type: string;
    step: string;
    count: number;  // that ended
    failed: number;
    attempts: number;
    open: number;
    p50_us?: number;
    p95_us?: number;
    longest_us?: number;
  }>;
};

export type Levels = {
  levels: string;
};

export type NewToken = {
  name: string;
  role: 'viewer' | 'operator' | 'admin';
};

export type Token = {
  name: string;
  role: string;
  token: string;
};

export type MakePrompt = {
  arguments?: Record<string, string>;
};

export type Skills = {
  skills: Array<{
    name: string;
    description: string;
    digest: string;  // SHA-256 of all its files
    tools: Array<string>;
    used: number;  // how often it was read in this daemon
  }>;
};

export type Servers = {
  servers: Array<{
    name: string;
    place: string;  // its URL, or the program
    known: boolean;  // a list of its tools is kept
    digest: string;  // SHA-256 of that list
  }>;
};

export type ServerChanges = {
  name: string;
  place: string;
  digest: string;  // of the list that is kept; empty: none is
  now: string;  // of the list that the server offers
  changes: Array<{
    tool: string;
    change: 'added' | 'removed' | 'changed';
    text: string;  // what was and what is, as the server says
  }>;
};

export type AcceptServer = {
  digest: string;  // of the list that was looked at
  reason?: string;
};

export type Note = {
  id: string;
  kind: string;
  text: string;
  made: string;
  expires?: string;
  origins: Array<{
    task: string;
    step: string;
    made: string;
    expires?: string;
  }>;
  distance?: number;  // edges between it and what was found
};

export type NoteEdge = {
  from: string;
  to: string;
  kind: string;
};

export type Notes = {
  notes: Array<Note>;
  edges: Array<NoteEdge>;
  all_notes: number;  // of the whole memory
  all_edges: number;
  without_vector?: string;  // the endpoint of embeddings gave no vector: found by words alone
};

export type Embedded = {
  done: string;
  model: string;
  dimension: number;  // of its vectors
  embedded: number;  // notes, by this request
  refused: number;  // notes that the endpoint does not take
  why?: string;  // the first of these was refused
  left: number;  // notes of the whole memory without a vector
  next: number;  // goes on as `after`; 0: that was all
};

export type NoteWithEdges = {
  note: Note;
  edges: Array<NoteEdge>;
};

export type Tokens = {
  tokens: Array<{
    name: string;
    role: string;
    created?: string;
  }>;
};

export type Backup = {
  to: string;
};

export type PlanText = {
  text: string;
  file?: string;
  files?: PlanFiles;
};

export type PlanFiles = Record<string, string>;

export type PlanCheck = {
  good: boolean;
  mistakes: Array<{
    line?: number;
    column?: number;
    sentence?: string;
  }>;
  params?: Array<Record<string, unknown>>;
  graph?: Record<string, unknown>;
};

export type RunPlan = {
  text: string;
  file?: string;
  files?: PlanFiles;
  params?: Record<string, unknown>;
  id?: string;
  key?: string;
  priority?: number;
  timeout?: string;
  attributes?: Record<string, unknown>;
};

export type RunKnownPlan = {
  params?: Record<string, unknown>;
  id?: string;
  key?: string;
  priority?: number;
  timeout?: string;
  attributes?: Record<string, unknown>;
};

export type Plans = {
  plans: Array<KnownPlan>;
};

export type PlanParams = {
  params?: Record<string, unknown>;
};

export type PlanParam = {
  name: string;
  type: 'string' | 'integer' | 'number' | 'boolean';
  value?: unknown;  // the default; none: must be given
  choices?: Array<string>;
  about?: string;
};

export type PlanGraph = {
  nodes: Array<{
    name: string;
    kind: string;
    phase: string;
    level: number;
    graph?: PlanGraph;  // of a sub-plan
  }>;
  edges: Array<Array<string>>;
};

export type PlanUnit = {
  name: string;
  step: string;
  phase?: string;
  state: string;
  attempts?: number;
  text?: string;  // how it ended, or what is to be approved
  begun_us?: number;
  ended_us?: number;
  output?: string;
  promise?: string;
  digest?: string;
  task?: string;  // of a sub-plan: the id of its task
};

export type KnownPlan = {
  name: string;
  file?: string;
  good: boolean;
  mistakes: Array<{
    line: number;
    column: number;
    sentence: string;
  }>;
  about?: string;
  text?: string;
  cron?: string;
  zone?: string;
  params?: Array<PlanParam>;
  graph?: PlanGraph;
};

export type PlanState = {
  task?: string;
  name?: string;
  graph: PlanGraph;
  units: Array<PlanUnit>;
};

export type Artifacts = {
  artifacts: Array<{
    unit?: string;
    attempt?: number;
    name?: string;
    size?: number;
    sha256?: string;
  }>;
};

export type Decide = {
  unit?: string;
  approved: boolean;
  digest: string;
  note?: string;
  scope?: 'once' | 'task' | 'rule';
};

export type Rules = {
  rules: Array<{
    id: string;
    tool: string;
    pin?: string;
    arguments: unknown;
    repository: string;
    who: string;
    comment?: string;
    since: string;
  }>;
};
