import { CircleCheck, CircleX, FlaskConical } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Card } from '../../components/card.tsx'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { ErrorNote } from '../../components/feedback.tsx'
import { CODE_INPUT, TextArea, TextField } from '../../components/form.tsx'
import { StatusText } from '../../components/status.tsx'
import { Exchange } from './exchange.tsx'
import { type TaskTest, useTestTask } from './run-tasks.ts'
import { pastedSignature, signatureOf } from './signature.ts'
import { milliseconds } from './task-health.tsx'
import type { Task } from './workspace-tasks.ts'

export default function TestTab({ task, mayManage }: { task: Task; mayManage: boolean }) {
  const test = useTestTask(task.id)
  return (
    <div className="max-w-4xl space-y-4">
      {mayManage && (
        <Card
          title="Test the receiver"
          about={
            <>
              Sends a request with all keys of a real one, for no run. The receiver should respond with 200 and do
              nothing.{' '}
              <DocsLink page="run-tasks" anchor="debug-a-receiver">
                Debug a receiver
              </DocsLink>
            </>
          }
        >
          <div className="space-y-3">
            <Button
              label="Send test request"
              icon={FlaskConical}
              kind="primary"
              isPending={test.isPending}
              onClick={() => test.mutate()}
            />
            {test.error && <ErrorNote error={test.error} />}
            {test.data && <TestResult result={test.data} />}
          </div>
        </Card>
      )}
      <SignatureTester result={test.data} />
    </div>
  )
}

function TestResult({ result }: { result: TaskTest }) {
  const { passed, summary, request, response, error } = result
  return (
    <div className="space-y-3">
      <div role="status" className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <StatusText
          tone={passed ? 'good' : 'bad'}
          icon={passed ? CircleCheck : CircleX}
          text={passed ? 'Passed' : 'Failed'}
        />
        {error === null && <span>{summary}</span>}
        <span className="numeric text-dim">{milliseconds(result['duration-ms'])}</span>
      </div>
      <Exchange title="the test" request={request} response={response} error={error} />
      <p className="text-dim">
        {result['expected-signature'] === ''
          ? 'The request is not signed: the task has no HMAC key.'
          : 'The request is signed: X-TFC-Task-Signature is the HMAC-SHA512 of the body with the task’s key.'}
      </p>
    </div>
  )
}

/** Computes a signature in the browser, so that the key is sent nowhere. */
function SignatureTester({ result }: { result: TaskTest | undefined }) {
  const [body, setBody] = useState('')
  const [key, setKey] = useState('')
  const [header, setHeader] = useState('')
  const signature = key === '' ? undefined : signatureOf(body, key)
  const pasted = pastedSignature(header)

  function fill({ request, 'expected-signature': expected }: TaskTest) {
    setBody(request.body)
    setHeader(expected)
  }
  return (
    <Card
      title="Signature tester"
      about={
        <>
          Computes the header that a request with this body and key has. The key does not leave the browser.{' '}
          <DocsLink page="run-tasks" anchor="check-the-signature">
            Check the signature
          </DocsLink>
        </>
      }
      actions={result && <Button size="small" label="Use the test request" onClick={() => fill(result)} />}
    >
      <div className="space-y-4">
        <TextArea
          label="Body"
          hint="Exactly as received: every byte counts, including a final line break."
          rows={6}
          className="font-mono"
          value={body}
          onChange={({ target }) => setBody(target.value)}
          {...CODE_INPUT}
        />
        <TextField
          label="HMAC key"
          type="password"
          className="max-w-md"
          value={key}
          onChange={({ target }) => setKey(target.value)}
          {...CODE_INPUT}
          autoComplete="new-password"
        />
        <TextField
          label="Header to compare (optional)"
          placeholder="X-TFC-Task-Signature: …"
          className="font-mono"
          value={header}
          onChange={({ target }) => setHeader(target.value)}
          {...CODE_INPUT}
        />
        {signature === undefined ? (
          <p className="text-dim">Enter a key to see the signature.</p>
        ) : (
          <CodeBlock label="the signature" code={`X-TFC-Task-Signature: ${signature}`} />
        )}
        <div role="status">
          {signature !== undefined && pasted !== '' && <Comparison isMatch={pasted === signature} />}
        </div>
      </div>
    </Card>
  )
}

function Comparison({ isMatch }: { isMatch: boolean }) {
  return isMatch ? (
    <StatusText tone="good" icon={CircleCheck} text="The header matches" />
  ) : (
    <>
      <StatusText tone="bad" icon={CircleX} text="The header does not match" />
      <p className="mt-1 text-dim">
        The key differs, or the body was changed: parsed and printed again, re-encoded, or without its final line break.
      </p>
    </>
  )
}
