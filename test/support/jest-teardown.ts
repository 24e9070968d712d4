import { stop } from './shared-servers';

export default stop;
