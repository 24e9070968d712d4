import type { RecordRules } from './vendor-record';

const given = { emptyIsUnknown: false, zeroIsUnknown: [], zeroIsUnknownWithout: {} } as const;

/** The schemas in `examples/apis` for the rows of `test/support/apis`, written a second time. */
export const apiRecordRules: Readonly<Record<string, RecordRules>> = {
  tickets: {
    ...given,
    named: { id: 'id', updated: 'generated_timestamp', format: 'seconds' },
    members: {
      subject: 'text',
      status: 'text',
      priority: 'text',
      assignee_id: 'integer',
      tags: 'texts',
      via: { channel: 'text' },
      created_at: 'text',
    },
  },
  issues: {
    ...given,
    named: { id: 'number', updated: 'updated_at', format: 'iso8601' },
    members: {
      id: 'integer',
      title: 'text',
      state: 'text',
      comments: 'integer',
      locked: 'boolean',
      user: { login: 'text' },
      body: 'text',
      created_at: 'text',
    },
  },
  contacts: {
    ...given,
    named: { id: 'id', updated: 'modifiedAt', format: 'iso8601' },
    members: {
      email: 'text',
      emailBlacklisted: 'boolean',
      smsBlacklisted: 'boolean',
      attributes: { FIRSTNAME: 'text', LASTNAME: 'text' },
      createdAt: 'text',
    },
  },
  companies: {
    ...given,
    named: { id: 'id', updated: 'updatedAt', format: 'iso8601' },
    members: {
      properties: { name: 'text', domain: 'text', lifecyclestage: 'text' },
      archived: 'boolean',
      createdAt: 'text',
    },
  },
  backlog: {
    ...given,
    named: { id: 'id', updated: 'updatedAt', format: 'iso8601' },
    members: {
      identifier: 'text',
      title: 'text',
      priority: 'integer',
      estimate: 'number',
      state: { name: 'text', type: 'text' },
      createdAt: 'text',
      archivedAt: 'text',
    },
  },
  tasks: {
    ...given,
    named: { id: 'id', updated: 'date_updated', format: 'milliseconds' },
    members: {
      name: 'text',
      status: { status: 'text', type: 'text' },
      priority: { priority: 'text' },
      orderindex: 'decimal',
      archived: 'boolean',
      points: 'number',
      due_date: 'integer',
      date_created: 'integer',
    },
  },
  persons: {
    ...given,
    named: { id: 'id', updated: 'updated_at', format: 'iso8601' },
    members: {
      email: 'text',
      first_name: 'text',
      last_name: 'text',
      preferred_name: 'text',
      gender: 'text',
      status: 'text',
      created_at: 'text',
    },
  },
  customers: {
    ...given,
    members: {
      name: 'text',
      balance: 'integer',
      delinquent: 'boolean',
      address: { city: 'text' },
      created: 'integer',
    },
  },
  orders: {
    ...given,
    members: { customer: 'text', state: 'text', total: 'decimal', items: 'integer' },
  },
};
