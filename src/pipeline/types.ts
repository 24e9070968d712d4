export * from '../types';
