// Starts a task, with a form that is made from the schemas of the arguments of its type.
import { useEffect, useState } from 'preact/hooks';
import { parse, startCommand } from './actions';
import { post } from './api';
import type { Task, Types } from './api_types';
import { useAsk } from './live';
import { Button, Copy, Empty, Failure, OperatorsOnly } from './parts';
import { go, link, route } from './route';

export interface Schema {
  type?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: string[];
  items?: Schema;
}
interface Argument {
  name: string;
  type: string;
  schema: Schema;
}

function first(schema: Schema): unknown {
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case 'string':
      return '';
    case 'integer':
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'array':
      return [];
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {}).map(([name, each]) => [name, first(each)]),
      );
    default:
      return null;
  }
}

// A field for what a form can have; JSON for everything else.
export function Field({
  name,
  schema,
  value,
  set,
}: {
  name: string;
  schema: Schema;
  value: unknown;
  set: (value: unknown) => void;
}) {
  const [text, setText] = useState<string | null>(null);
  const [bad, setBad] = useState('');
  if (schema.enum) {
    return (
      <label>
        {name}
        <select value={String(value)} onChange={(event) => set(event.currentTarget.value)}>
          {schema.enum.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
      </label>
    );
  }
  if (schema.type === 'object' && schema.properties) {
    const object = (value ?? {}) as Record<string, unknown>;
    return (
      <fieldset>
        <legend>{name}</legend>
        {Object.entries(schema.properties).map(([member, each]) => (
          <Field
            key={member}
            name={member}
            schema={each}
            value={object[member]}
            set={(to) => set({ ...object, [member]: to })}
          />
        ))}
      </fieldset>
    );
  }
  if (schema.type === 'boolean') {
    return (
      <label class="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => set(event.currentTarget.checked)}
        />{' '}
        {name}
      </label>
    );
  }
  if (schema.type === 'string') {
    return (
      <label>
        {name}
        <input value={String(value ?? '')} onInput={(event) => set(event.currentTarget.value)} />
      </label>
    );
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    return (
      <label>
        {name}
        <input
          type="number"
          step={schema.type === 'integer' ? 1 : 'any'}
          value={String(value ?? 0)}
          onInput={(event) => set(Number(event.currentTarget.value))}
        />
      </label>
    );
  }
  const input = (given: string) => {
    setText(given);
    try {
      set(parse(given));
      setBad('');
    } catch (error) {
      setBad((error as Error).message);
    }
  };
  return (
    <label>
      {name} (JSON)
      <textarea
        rows={3}
        value={text ?? JSON.stringify(value)}
        aria-invalid={bad !== ''}
        onInput={(event) => input(event.currentTarget.value)}
      />
      {bad && <span class="bad">{bad}</span>}
    </label>
  );
}

function Form({ type, args }: { type: string; args: Argument[] }) {
  const [values, setValues] = useState<unknown[]>([]);
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState('');
  // One key for one form: a second click starts no second task.
  const [once, setOnce] = useState('');
  useEffect(() => {
    setValues(args.map((each) => first(each.schema)));
    setOnce(crypto.randomUUID?.() ?? String(Math.random()).slice(2) + Date.now());
    setProblem('');
  }, [type]);
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const body: Record<string, unknown> = { type, arguments: values, id: once };
      if (key) body.key = key;
      const made = await post<Task>('/tasks', body);
      go(`task/${made.id}`);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  if (values.length !== args.length) return null;
  return (
    <form class="card" onSubmit={submit}>
      <h2>Start {type}</h2>
      {args.length === 0 && <p class="dim">This type takes no arguments.</p>}
      {args.map((each, i) => (
        <Field
          key={each.name}
          name={each.name}
          schema={each.schema}
          value={values[i]}
          set={(to) => setValues((all) => all.map((old, j) => (j === i ? to : old)))}
        />
      ))}
      <label>
        Key, to find the task by (not needed)
        <input value={key} onInput={(event) => setKey(event.currentTarget.value)} />
      </label>
      {problem && <Failure error={problem} />}
      <div class="bar">
        <Button type="submit" class="primary" operator>
          Start {type}
        </Button>
        <Copy text={startCommand(type, values)} />
      </div>
      <OperatorsOnly what="starting" />
    </form>
  );
}

export function Start() {
  const answer = useAsk<Types>('/types', 'types');
  const types = answer.data?.types ?? [];
  if (answer.error && !answer.data) return <Failure error={answer.error} />;
  if (!answer.data) return null;
  const chosen = types.find((each) => each.name === route.value.parts[0]) ?? types[0];
  if (!chosen) {
    return (
      <Empty title="This program has no types of tasks">
        <p>
          A program registers them: <code>app.durable("order", 1, order, {'{"order"}'})</code>
        </p>
      </Empty>
    );
  }
  return (
    <section aria-label="Start a task">
      <h1>Start a task</h1>
      <div class="inbox">
        <nav class="list" aria-label="Types">
          <ul class="list">
            {types.map((each) => (
              <li key={each.name}>
                <a
                  href={link(`start/${encodeURIComponent(each.name)}`)}
                  aria-current={each === chosen ? 'page' : undefined}
                >
                  {each.name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Form
          key={chosen.name}
          type={chosen.name}
          args={chosen.arguments as unknown as Argument[]}
        />
      </div>
    </section>
  );
}
