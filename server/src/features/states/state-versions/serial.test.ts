import { describe, expect, test } from 'vitest'
import type { AppError } from '../../../errors.ts'
import { checkSerial } from './serial.ts'

describe('checkSerial', () => {
  const current = { serial: 5, md5: 'aaa', lineage: 'one' }
  const refusal = (next: Parameters<typeof checkSerial>[1]): Pick<AppError, 'kind' | 'message'> | undefined => {
    try {
      checkSerial(current, next)
      return undefined
    } catch (error) {
      const { kind, message } = error as AppError
      return { kind, message }
    }
  }

  test('the first state may have any serial', () => {
    expect(() => checkSerial(undefined, { serial: 0, md5: 'x' })).not.toThrow()
  })

  test('a higher serial of the same or no lineage is accepted', () => {
    expect(refusal({ serial: 6, md5: 'bbb', lineage: 'one' })).toBeUndefined()
    expect(refusal({ serial: 9, md5: 'bbb' })).toBeUndefined()
  })

  test('a lower serial is a failed precondition', () => {
    expect(refusal({ serial: 4, md5: 'aaa', lineage: 'one' })).toEqual({
      kind: 'precondition-failed',
      message: 'serial 4 is behind the current serial 5',
    })
  })

  test('the same serial with different content is a conflict that names both', () => {
    expect(refusal({ serial: 5, md5: 'bbb', lineage: 'one' })).toEqual({
      kind: 'conflict',
      message: 'serial 5 already exists with md5 aaa, but this state has md5 bbb; the next serial is 6',
    })
  })

  test('the same content again is accepted', () => {
    expect(refusal({ serial: 5, md5: 'aaa', lineage: 'one' })).toBeUndefined()
  })

  test('another lineage is a conflict that names both', () => {
    expect(refusal({ serial: 6, md5: 'bbb', lineage: 'two' })).toEqual({
      kind: 'conflict',
      message: "lineage two is not the current state's lineage one",
    })
  })

  test('force skips the rules', () => {
    expect(refusal({ serial: 4, md5: 'bbb', lineage: 'two', force: true })).toBeUndefined()
  })
})
